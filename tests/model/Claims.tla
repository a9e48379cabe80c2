------------------------------- MODULE Claims -------------------------------
(* One instance of a workflow, the claim in its head row, and everybody who looks at it: gateways that answer *)
(* callers, workers that were woken, and people who say what became of a step that is in doubt. docs/model.md says *)
(* what is left out, and which action is which code. *)
EXTENDS Integers, TLC

CONSTANTS
    Gateways,       \* invocations that answer callers and people
    Workers,        \* invocations that were woken to look at the instance
    LastVersion,    \* the steps are those from 1 to this one; after it nothing is left to do
    Tokens,         \* 1..n: tokens of claims, and names of attempts to execute
    MaxAttempts,    \* attempts at one step before a person is asked
    MaxRounds,      \* the executions at one step that may ask questions are those up to this one
    MaxRetries,     \* how often a person chooses retry at one step
    MaxReleases,    \* how often a step is tried anew after nothing happened
    MaxCrashes,
    MaxStrays,      \* writes that reach the table after their sender has given them up for lost
    Consent,        \* the author consented to repetition: `idempotent: true`, or a `retry` block
    Fault           \* what is done wrong; "none" is the design

ASSUME Fault \in {
    "none", "executes first", "takes over unasked", "takes over unnamed", "keeps the token", "releases what is unknown",
    "forgets earlier attempts", "resolves at once", "resolves what is there", "outlives its lease",
    "shortens the lease", "ends what is claimed", "does not count releases", "saves without the version",
    "wakes nobody", "parks without the taint", "answers unnamed"}

Processes == Gateways \cup Workers
Steps == 1..LastVersion

VARIABLES
    row,        \* the head row: version, claim, and how many claims of this version were released
    lease,      \* of each attempt: "new", "on" or "over". Only what begins under a lease that is on may run
    call,       \* of each attempt, the executor: "no", "sent", "begun", "acted", "gone"
    step,       \* of each attempt that a write brought into the row: the version it is at; else 0
    process,    \* what each process is doing, and all it knows
    stray,      \* writes on their way that nobody waits for
    effects,    \* what happened in the world, by step. The gateway cannot see it
    outcome,    \* by step, who ended it: a token, a person, the deadline, or nobody yet
    retries,    \* by step, how often a person chose retry
    givenUp,    \* tokens that the row had and has no more
    crashes, strays

Alike == Permutations(Gateways)

vars == <<row, lease, call, step, process, stray, effects, outcome, retries, givenUp, crashes, strays>>

Nobody == 0
Person == -1
Deadline == -2

None == [token |-> 0, attempt |-> 0, stand |-> "none", tainted |-> FALSE, count |-> 0]
(* A claim is tainted if an attempt before this one had an outcome that nobody knows. *)
Claim(token, attempt, stand, tainted, count) ==
    [token |-> token, attempt |-> attempt, stand |-> stand, tainted |-> tainted, count |-> count]

Idle == [doing |-> "nothing"]
Asking(write) == [doing |-> "asking", write |-> write]
Executing(claim, version) == [doing |-> "executing", claim |-> claim, version |-> version]
Looking(claim, happened) == [doing |-> "looking", claim |-> claim, happened |-> happened]

(* A write: which claim it names (None if the row must have none), and which it puts there. Tokens are compared, and *)
(* each is that of one write: where none is reserved for a claim, its stand tells it from the one before. *)
Write(kind, names, version, claim, by) ==
    [kind |-> kind, names |-> names, version |-> version, released |-> row.released, claim |-> claim, by |-> by]

Is(p, what) == process[p].doing = what
Free == {t \in Tokens : lease[t] = "new"}
Fresh == CHOOSE t \in Free : \A other \in Free : t <= other
Outstanding(t) == call[t] \in {"sent", "begun", "acted"}
Claimed == row.claim # None
LeaseIsOver == lease[row.claim.attempt] = "over"
MayRepeat(count) == Consent /\ count < MaxAttempts

(* What answers show as in doubt. That of a running claim is derived from its lease, by whoever reads it. *)
InDoubt ==
    \/ row.claim.stand = "doubt"
    \/ row.claim.stand = "running" /\ LeaseIsOver /\ ~MayRepeat(row.claim.count)

Due ==
    \/ row.claim.stand = "waiting"
    \/ row.claim.stand = "running" /\ LeaseIsOver /\ (MayRepeat(row.claim.count) \/ Fault = "takes over unasked")

-----------------------------------------------------------------------------
Init ==
    /\ row = [version |-> 1, claim |-> None, released |-> 0]
    /\ lease = [t \in Tokens |-> "new"]
    /\ call = [t \in Tokens |-> "no"]
    /\ step = [t \in Tokens |-> 0]
    /\ process = [p \in Processes |-> Idle]
    /\ stray = {}
    /\ effects = [v \in Steps |-> 0]
    /\ outcome = [v \in Steps |-> Nobody]
    /\ retries = [v \in Steps |-> 0]
    /\ givenUp = {}
    /\ crashes = 0
    /\ strays = 0

(* A process makes up its mind: from here on it goes by what it saw, however long the write takes. *)
Ask(p, write) == process' = [process EXCEPT ![p] = Asking(write)]

(* The lease is reckoned when the write is made, not when it arrives. A waiting claim gives nobody the right to run. *)
Reserve(t, stand) == lease' = [lease EXCEPT ![t] = IF stand = "running" THEN "on" ELSE "over"]

-----------------------------------------------------------------------------
(* What processes decide to write. *)

ReadAndClaim(p) ==
    /\ Fault # "executes first"
    /\ Is(p, "nothing") /\ ~Claimed /\ row.version <= LastVersion /\ row.released <= MaxReleases /\ Free # {}
    /\ \E stand \in {"running", "waiting"} :
        /\ Ask(p, Write("claim", None, row.version,
                        Claim(Fresh, Fresh, stand, FALSE, IF stand = "running" THEN 1 ELSE 0), Nobody))
        /\ Reserve(Fresh, stand)
    /\ UNCHANGED <<row, call, step, stray, effects, outcome, retries, givenUp, crashes, strays>>

ReadAndExecute(p) ==
    /\ Fault = "executes first"
    /\ Is(p, "nothing") /\ ~Claimed /\ row.version <= LastVersion /\ Free # {}
    /\ process' = [process EXCEPT ![p] = Executing(Claim(Fresh, Fresh, "running", FALSE, 1), row.version)]
    /\ Reserve(Fresh, "running")
    /\ call' = [call EXCEPT ![Fresh] = "sent"]
    /\ step' = [step EXCEPT ![Fresh] = row.version]
    /\ UNCHANGED <<row, stray, effects, outcome, retries, givenUp, crashes, strays>>

TakeOver(p) ==
    /\ Is(p, "nothing") /\ Claimed /\ Due /\ Free # {}
    /\ Ask(p, Write("take over", row.claim, row.version,
                    Claim(Fresh, Fresh, "running", row.claim.tainted \/ row.claim.stand = "running",
                          row.claim.count + 1), Nobody))
    /\ Reserve(Fresh, "running")
    /\ UNCHANGED <<row, call, step, stray, effects, outcome, retries, givenUp, crashes, strays>>

(* A function that asks has no effect yet. Its step waits for answers, and for nothing else: no lease, no worker. *)
Answer(p) ==
    /\ Is(p, "nothing") /\ Claimed /\ row.claim.stand = "parked"
    /\ Ask(p, Write("answer", row.claim, row.version,
                    Claim(row.claim.token, row.claim.attempt, "waiting", row.claim.tainted, row.claim.count), Nobody))
    /\ UNCHANGED <<row, lease, call, step, stray, effects, outcome, retries, givenUp, crashes, strays>>

(* A deadline, or somebody who cancels: ends what nobody executes, and nothing that may have happened. *)
ReadAndEnd(p) ==
    /\ Is(p, "nothing") /\ row.version <= LastVersion
    /\ \/ ~Claimed
       \/ row.claim.stand \in {"waiting", "parked"} /\ ~row.claim.tainted
       \/ Fault = "ends what is claimed"
    /\ Ask(p, Write("end", row.claim, row.version, None, Deadline))
    /\ UNCHANGED <<row, lease, call, step, stray, effects, outcome, retries, givenUp, crashes, strays>>

(* A person sees a step in doubt, once nothing of it can run any more, and looks at what it should have done. *)
Look(p) ==
    /\ Is(p, "nothing") /\ Claimed /\ InDoubt
    /\ LeaseIsOver \/ Fault = "resolves at once"
    /\ process' = [process EXCEPT ![p] = Looking(row.claim, effects[row.version] > 0)]
    /\ UNCHANGED <<row, lease, call, step, stray, effects, outcome, retries, givenUp, crashes, strays>>

(* What the person saw, not what is there by now. *)
Named(p) == IF Fault = "resolves what is there" THEN row.claim ELSE process[p].claim
MayResolve(p) == Claimed /\ InDoubt /\ (LeaseIsOver \/ Fault = "resolves at once") /\ row.claim = Named(p)

Resolve(p) ==
    /\ Is(p, "looking")
    /\ IF MayResolve(p)
       THEN Ask(p, IF process[p].happened
                   THEN Write("settle", Named(p), row.version, None, Person)
                   ELSE Write("release", Named(p), row.version, None, Nobody))
       ELSE process' = [process EXCEPT ![p] = Idle]
    /\ UNCHANGED <<row, lease, call, step, stray, effects, outcome, retries, givenUp, crashes, strays>>

Retry(p) ==
    /\ Is(p, "looking") /\ MayResolve(p) /\ Free # {}
    /\ retries[row.version] < MaxRetries
    /\ Ask(p, Write("take over", Named(p), row.version, Claim(Fresh, Fresh, "running", TRUE, 1), Person))
    /\ Reserve(Fresh, "running")
    /\ UNCHANGED <<row, call, step, stray, effects, outcome, retries, givenUp, crashes, strays>>

-----------------------------------------------------------------------------
(* What whoever executed writes, knowing what came of it: "result", "none" (nothing happened), "asks" or "unknown". *)

Park(p, claim, version) ==
    /\ claim.count <= MaxRounds
    /\ Ask(p, Write("park", claim, version,
                    Claim(claim.token, claim.attempt, "parked", claim.tainted /\ Fault # "parks without the taint",
                          claim.count), Nobody))
    /\ UNCHANGED lease

GoOn(p, claim, version, tainted) ==
    \/ /\ MayRepeat(claim.count) /\ Free # {}
       /\ Ask(p, Write("renew", claim, version,
                       Claim(IF Fault = "keeps the token" THEN claim.token ELSE Fresh,
                             Fresh, "running", tainted, claim.count + 1), Nobody))
       /\ Reserve(Fresh, "running")
    \/ /\ MayRepeat(claim.count)
       /\ Ask(p, Write("hand over", claim, version,
                       Claim(claim.token, claim.attempt, "waiting", tainted, claim.count), Nobody))
       /\ UNCHANGED lease
    \/ /\ Ask(p, IF tainted
                 THEN Write("doubt", claim, version,
                            Claim(claim.token, claim.attempt, "doubt", TRUE, claim.count), Nobody)
                 ELSE Write("release", claim, version, None, Nobody))
       /\ UNCHANGED lease

SettleWith(p, claim, version) ==
    LET names == IF Fault = "executes first" THEN None ELSE claim IN
    \/ /\ Ask(p, Write("settle", names, version, None, claim.token))
       /\ UNCHANGED lease
    \/ \E stand \in {"running", "waiting"} :
        /\ version < LastVersion /\ Free # {}
        /\ Ask(p, Write("settle", names, version,
                        Claim(Fresh, Fresh, stand, FALSE, IF stand = "running" THEN 1 ELSE 0), claim.token))
        /\ Reserve(Fresh, stand)

React(p, reply) ==
    LET claim == process[p].claim
        version == process[p].version
        tainted == CASE reply = "none" -> claim.tainted /\ Fault # "forgets earlier attempts"
                     [] OTHER -> Fault # "releases what is unknown"
    IN CASE reply = "result" -> SettleWith(p, claim, version)
         [] reply = "asks" -> Park(p, claim, version)
         [] OTHER -> GoOn(p, claim, version, tainted)

GiveUp(p) ==
    /\ Is(p, "executing")
    /\ React(p, "unknown")
    /\ UNCHANGED <<row, call, step, stray, effects, outcome, retries, givenUp, crashes, strays>>

-----------------------------------------------------------------------------
(* The table. *)

Holds(write) ==
    CASE \/ write.kind = "take over" /\ Fault = "takes over unnamed"
         \/ write.kind = "answer" /\ Fault = "answers unnamed" ->
            Claimed /\ row.version = write.version
      [] write.names # None ->
            /\ row.claim.token = write.names.token
            /\ row.claim.stand = write.names.stand \/ Fault = "keeps the token"
      [] OTHER ->
            /\ ~Claimed
            /\ row.version = write.version \/ (write.kind = "end" /\ Fault = "saves without the version")
            /\ row.released = write.released \/ write.kind # "claim" \/ Fault = "does not count releases"

Apply(write) ==
    /\ row' = CASE write.kind \in {"settle", "end"} ->
                        [version |-> write.version + 1, claim |-> write.claim, released |-> 0]
                [] write.kind = "release" ->
                        [row EXCEPT !.claim = None, !.released = @ + 1]
                [] OTHER ->
                        [row EXCEPT !.claim = write.claim]
    /\ outcome' = IF write.kind \in {"settle", "end"} THEN [outcome EXCEPT ![write.version] = write.by] ELSE outcome
    /\ retries' = IF write.kind = "take over" /\ write.by = Person
                  THEN [retries EXCEPT ![write.version] = @ + 1] ELSE retries
    /\ step' = IF write.claim # None THEN [step EXCEPT ![write.claim.attempt] = row'.version] ELSE step
    /\ givenUp' = IF Claimed /\ row'.claim.token # row.claim.token
                  THEN givenUp \cup {row.claim.token} ELSE givenUp

(* Who asks again after an answer was lost finds its own token in the row that the failed condition returns. Of a *)
(* settle the table itself knows, by the token of the transaction. *)
IsDone(write) ==
    \/ write.kind \in {"claim", "take over", "renew"} /\ row.claim = write.claim
    \/ write.kind = "settle" /\ outcome[write.version] = write.by

(* The executor is called in the same breath: a call that is still "sent" may be one that was not made yet. *)
Succeeded(p, write) ==
    IF write.claim.stand = "running"
    THEN /\ process' = [process EXCEPT ![p] = Executing(write.claim,
                            IF write.kind = "settle" THEN write.version + 1 ELSE write.version)]
         /\ call' = [call EXCEPT ![write.claim.attempt] = "sent"]
    ELSE /\ process' = [process EXCEPT ![p] = Idle]
         /\ UNCHANGED call

Answered(p) ==
    /\ Is(p, "asking")
    /\ LET write == process[p].write IN
        CASE Holds(write) ->
                Apply(write) /\ Succeeded(p, write)
          [] ~Holds(write) /\ IsDone(write) ->
                Succeeded(p, write) /\ UNCHANGED <<row, outcome, retries, step, givenUp>>
          [] OTHER ->
                /\ process' = [process EXCEPT ![p] = Idle]
                /\ UNCHANGED <<row, outcome, retries, step, givenUp, call>>
    /\ UNCHANGED <<lease, stray, effects, crashes, strays>>

(* It is written, and whoever asked does not know: it will ask again. *)
AnswerLost(p) ==
    /\ Is(p, "asking")
    /\ Holds(process[p].write)
    /\ Apply(process[p].write)
    /\ UNCHANGED <<lease, call, process, stray, effects, crashes, strays>>

(* The request is held up on its way, and whoever asked asks again. *)
HeldUp(p) ==
    /\ Is(p, "asking") /\ strays < MaxStrays
    /\ stray' = stray \cup {process[p].write}
    /\ strays' = strays + 1
    /\ UNCHANGED <<row, lease, call, step, process, effects, outcome, retries, givenUp, crashes>>

Arrives(write) ==
    /\ stray' = stray \ {write}
    /\ IF Holds(write) THEN Apply(write) ELSE UNCHANGED <<row, outcome, retries, step, givenUp>>
    /\ UNCHANGED <<lease, call, process, effects, crashes, strays>>

-----------------------------------------------------------------------------
(* The executor. *)

Begin(t) ==
    /\ call[t] = "sent" /\ lease[t] = "on"
    /\ call' = [call EXCEPT ![t] = "begun"]
    /\ UNCHANGED <<row, lease, step, process, stray, effects, outcome, retries, givenUp, crashes, strays>>

Counted == 2 + MaxRetries   \* one more than there may ever be

Act(t) ==
    /\ call[t] = "begun"
    /\ call' = [call EXCEPT ![t] = "acted"]
    /\ effects' = [effects EXCEPT ![step[t]] = IF @ < Counted THEN @ + 1 ELSE @]
    /\ UNCHANGED <<row, lease, step, process, stray, outcome, retries, givenUp, crashes, strays>>

(* "none": throttled, refused by the harness, or the function says that it did nothing. "unknown": a crash, a kill, a *)
(* reply that was lost. Whoever called may not be there any more. *)
Replies(t) == CASE call[t] = "acted" -> {"result", "unknown"}
                [] call[t] = "begun" -> {"none", "asks", "unknown"}
                [] OTHER -> {"none", "unknown"}

Return(t) ==
    /\ Outstanding(t)
    /\ call' = [call EXCEPT ![t] = "gone"]
    /\ LET waiting == {p \in Processes : Is(p, "executing") /\ process[p].claim.attempt = t} IN
        IF waiting = {} THEN UNCHANGED <<process, lease>>
        ELSE \E p \in waiting, reply \in Replies(t) : React(p, reply)
    /\ UNCHANGED <<row, step, stray, effects, outcome, retries, givenUp, crashes, strays>>

-----------------------------------------------------------------------------
(* Time and accidents. *)

Matters(t) ==
    \/ row.claim.attempt = t
    \/ Outstanding(t)
    \/ \E p \in Processes : Is(p, "asking") /\ process[p].write.claim.attempt = t
    \/ \E write \in stray : write.claim.attempt = t

Superseded(t) == step[t] # 0 /\ row.claim.attempt # t

(* A lease covers all that an executor which begins under it can take, and ends no earlier than the one before it. *)
Expire(t) ==
    /\ lease[t] = "on" /\ Matters(t)
    /\ call[t] \notin {"begun", "acted"} \/ Fault = "outlives its lease"
    /\ \/ Superseded(t)
       \/ \A other \in Tokens \ {t} : ~(Outstanding(other) /\ lease[other] = "on" /\ step[other] = row.version)
       \/ Fault = "shortens the lease"
    /\ lease' = [lease EXCEPT ![t] = "over"]
    /\ UNCHANGED <<row, call, step, process, stray, effects, outcome, retries, givenUp, crashes, strays>>

Crash(p) ==
    /\ process[p].doing \in {"asking", "executing"} /\ crashes < MaxCrashes
    /\ process' = [process EXCEPT ![p] = Idle]
    /\ crashes' = crashes + 1
    /\ UNCHANGED <<row, lease, call, step, stray, effects, outcome, retries, givenUp, strays>>

-----------------------------------------------------------------------------
(* A token that nobody can name any more is as good as a new one. That keeps the model finite, and small. *)
Mentions(claim, t) == claim.token = t \/ claim.attempt = t

Remembered(t) ==
    \/ Mentions(row.claim, t)
    \/ Outstanding(t)
    \/ \E write \in stray \cup {process[p].write : p \in {q \in Processes : Is(q, "asking")}} :
        Mentions(write.claim, t) \/ Mentions(write.names, t)
    \/ \E p \in Processes : process[p].doing \in {"executing", "looking"} /\ Mentions(process[p].claim, t)

Forgotten == {t \in Tokens : lease[t] # "new" /\ ~Remembered(t)}

Forget ==
    /\ lease' = [t \in Tokens |-> IF t \in Forgotten THEN "new" ELSE lease[t]]
    /\ call' = [t \in Tokens |-> IF t \in Forgotten THEN "no" ELSE call[t]]
    /\ step' = [t \in Tokens |-> IF t \in Forgotten THEN 0 ELSE step[t]]
    /\ givenUp' = givenUp \ Forgotten
    /\ UNCHANGED <<row, process, stray, effects, outcome, retries, crashes, strays>>

-----------------------------------------------------------------------------
Happens ==
    \/ \E p \in Gateways :
        ReadAndClaim(p) \/ ReadAndExecute(p) \/ Look(p) \/ Resolve(p) \/ Retry(p) \/ Answer(p)
    \/ \E p \in Workers : TakeOver(p) \/ ReadAndEnd(p)
    \/ \E p \in Processes : Answered(p) \/ AnswerLost(p) \/ HeldUp(p) \/ GiveUp(p) \/ Crash(p)
    \/ \E write \in stray : Arrives(write)
    \/ \E t \in Tokens : Begin(t) \/ Act(t) \/ Return(t) \/ Expire(t)

Next == IF Forgotten # {} THEN Forget ELSE Happens

Safe == Init /\ [][Next]_vars

(* Nobody has to claim, to resolve or to answer. But whoever asks is answered in the end, calls return, time goes by, *)
(* and somebody is woken to look at what is due. *)
Fair ==
    /\ WF_vars(Forgotten # {} /\ Forget)
    /\ \A p \in Processes : WF_vars(Answered(p))
    /\ \A t \in Tokens : WF_vars(Return(t)) /\ WF_vars(Expire(t))
    /\ Fault = "wakes nobody" \/ \A p \in Workers : WF_vars(TakeOver(p))

Live == Safe /\ Fair

-----------------------------------------------------------------------------
TypesFit ==
    /\ row.version \in 1..(LastVersion + 1)
    /\ row.claim.stand \in {"none", "running", "waiting", "parked", "doubt"}
    /\ row.claim.attempt \in Tokens \cup {0}
    /\ \A t \in Tokens : lease[t] \in {"new", "on", "over"} /\ (call[t] # "no" => step[t] # 0)
    /\ \A p \in Processes : process[p].doing \in {"nothing", "asking", "executing", "looking"}

(* Without the author's consent the world changes once; a person who chooses retry consents to once more. *)
AtMostOneEffect == ~Consent => \A v \in Steps : effects[v] <= 1 + retries[v]

(* Whoever executes under a lease that is on holds the claim. So there is one such at most. *)
OneOwner ==
    \A p \in Processes :
        Is(p, "executing") /\ lease[process[p].claim.attempt] = "on" => row.claim.token = process[p].claim.token

(* What happened is part of a settled step, or is shown: it runs, will be repeated, or is in doubt. *)
NothingIsForgotten ==
    \A v \in Steps : effects[v] > 0 =>
        \/ outcome[v] \in Tokens \cup {Person}
        \/ row.version = v /\ (row.claim.stand \in {"running", "doubt"} \/ row.claim.tainted)

(* A token that was given up is never that of the claim again. *)
NoTokenReturns == row.claim.token \notin givenUp

(* The versions before this one are those that were ended. *)
EveryVersionHasItsEnd == \A v \in Steps : (outcome[v] # Nobody) <=> v < row.version

NoLostSettle ==
    [][/\ row'.version >= row.version
       /\ \A v \in Steps : outcome[v] # Nobody => outcome'[v] = outcome[v]]_vars

EveryClaimEnds ==
    \A v \in Steps : row.version = v /\ Claimed ~> row.version # v \/ ~Claimed \/ InDoubt \/ row.claim.stand = "parked"
=============================================================================
