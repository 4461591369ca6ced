; Turning a tower of four over.
(define (problem blocks-p02)
  (:domain blocks)
  (:objects a b c d - block)
  (:init
    (hand-empty)
    (on a b)
    (on b c)
    (on c d)
    (on-table d)
    (clear a))
  (:goal (and (on d c) (on c b) (on b a))))
