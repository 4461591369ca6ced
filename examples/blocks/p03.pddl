; Sussman's anomaly: working on the two goals one after the other undoes the first.
(define (problem blocks-p03)
  (:domain blocks)
  (:objects a b c - block)
  (:init
    (hand-empty)
    (on c a)
    (on-table a)
    (on-table b)
    (clear b)
    (clear c))
  (:goal (and (on a b) (on b c))))
