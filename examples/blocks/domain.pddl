; One hand and a table: the smallest domain that every planner knows, in plain STRIPS.
(define (domain blocks)
  (:requirements :strips :typing)
  (:types block)
  (:predicates
    (on ?above ?below - block)
    (on-table ?b - block)
    (clear ?b - block)
    (held ?b - block)
    (hand-empty))

  (:action pick-up
    :parameters (?b - block)
    :precondition (and (hand-empty) (clear ?b) (on-table ?b))
    :effect (and (held ?b) (not (hand-empty)) (not (clear ?b)) (not (on-table ?b))))

  (:action put-down
    :parameters (?b - block)
    :precondition (held ?b)
    :effect (and (hand-empty) (clear ?b) (on-table ?b) (not (held ?b))))

  (:action stack
    :parameters (?b ?onto - block)
    :precondition (and (held ?b) (clear ?onto))
    :effect (and
      (on ?b ?onto)
      (clear ?b)
      (hand-empty)
      (not (held ?b))
      (not (clear ?onto))))

  (:action unstack
    :parameters (?b ?from - block)
    :precondition (and (on ?b ?from) (clear ?b) (hand-empty))
    :effect (and
      (held ?b)
      (clear ?from)
      (not (on ?b ?from))
      (not (clear ?b))
      (not (hand-empty)))))
