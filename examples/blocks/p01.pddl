; Three blocks side by side become one tower. Four steps are enough.
(define (problem blocks-p01)
  (:domain blocks)
  (:objects a b c - block)
  (:init
    (hand-empty)
    (on-table a)
    (on-table b)
    (on-table c)
    (clear a)
    (clear b)
    (clear c))
  (:goal (and (on a b) (on b c))))
