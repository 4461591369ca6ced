; Trucks take roads, drones fly; each step costs what it uses. A type hierarchy, `either`, and costs.
(define (domain delivery)
  (:requirements :strips :typing :equality :negative-preconditions :action-costs)
  (:types
    place carrier parcel - object
    truck drone - carrier
    depot customer - place)
  (:constants hub - depot)
  (:predicates
    (road ?from ?to - place)
    (at ?x - (either carrier parcel) ?p - place)
    (inside ?x - parcel ?c - carrier)
    (loaded ?d - drone))
  (:functions
    (total-cost) - number
    (distance ?from ?to - place) - number)

  (:action drive
    :parameters (?t - truck ?from ?to - place)
    :precondition (and (at ?t ?from) (road ?from ?to))
    :effect (and
      (at ?t ?to)
      (not (at ?t ?from))
      (increase (total-cost) (distance ?from ?to))))

  ; A drone flies from anywhere to anywhere, for a fixed price.
  (:action fly
    :parameters (?d - drone ?from ?to - place)
    :precondition (and (at ?d ?from) (not (= ?from ?to)))
    :effect (and (at ?d ?to) (not (at ?d ?from)) (increase (total-cost) 7)))

  (:action load-truck
    :parameters (?x - parcel ?t - truck ?p - place)
    :precondition (and (at ?t ?p) (at ?x ?p))
    :effect (and (inside ?x ?t) (not (at ?x ?p)) (increase (total-cost) 1)))

  ; A drone carries one parcel at a time.
  (:action load-drone
    :parameters (?x - parcel ?d - drone ?p - place)
    :precondition (and (at ?d ?p) (at ?x ?p) (not (loaded ?d)))
    :effect (and
      (inside ?x ?d)
      (loaded ?d)
      (not (at ?x ?p))
      (increase (total-cost) 1)))

  (:action unload-truck
    :parameters (?x - parcel ?t - truck ?p - place)
    :precondition (and (at ?t ?p) (inside ?x ?t))
    :effect (and (at ?x ?p) (not (inside ?x ?t)) (increase (total-cost) 1)))

  (:action unload-drone
    :parameters (?x - parcel ?d - drone ?p - place)
    :precondition (and (at ?d ?p) (inside ?x ?d))
    :effect (and
      (at ?x ?p)
      (not (inside ?x ?d))
      (not (loaded ?d))
      (increase (total-cost) 1))))
