; Every lamp that works is to be lit: one flip for the attic. The broken porch lamp does not count.
(define (problem lights-p01)
  (:domain lights)
  (:objects
    mains - source
    hall porch attic - lamp
    s1 s2 s3 - switch)
  (:init
    (wire s1 mains hall)
    (wire s2 hall porch)
    (wire s3 hall attic)
    (closed s1)
    (closed s2)
    (broken porch)
    (spare))
  (:goal (forall (?l - lamp) (imply (not (broken ?l)) (lit ?l)))))
