// What the opaque pointers of interface.h point to.
#pragma once

#include "narrow.hpp"

struct pds_draft {
    pds::Draft draft;
};

struct pds_goal {
    pds::Goal goal;
};
