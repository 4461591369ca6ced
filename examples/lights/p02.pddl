; The same house, and the porch is to be lit: `replace` comes first, behind an open switch.
(define (problem lights-p02)
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
  (:goal (and (lit porch) (lit attic) (not (broken porch)))))
