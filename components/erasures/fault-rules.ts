import { type StoreRefusal, storeRefusals } from '#lib/kernel/store-refusal.ts'
import type { Run } from './endpoints.ts'

interface FaultParts {
  code: string
  /** The thread that cannot be rewritten. */
  thread: string | null
  /** Why the store refuses. */
  refusal: StoreRefusal | null
}
/** Parses the fault of a step: a code, and the thread or reason after the colon. */
export function faultParts(fault: string | null): FaultParts {
  const [code = '', ...rest] = (fault ?? 'internal').split(':')
  const named = rest.join(':')
  return {
    code,
    thread: code === 'conflict' && named !== '' ? named : null,
    refusal: code === 'store_refuses' ? (storeRefusals.find((one) => one === named) ?? null) : null,
  }
}

type Step = Run['steps'][number]
/** A thread cannot be rewritten: the step waits for a decision, and a retry has no effect. */
export const isUndecided = ({ state, fault }: Pick<Step, 'state' | 'fault'>): boolean =>
  state === 'stuck' && faultParts(fault).thread !== null
/** The step gave up after repeated failures. */
export const isStuck = (step: Pick<Step, 'state' | 'fault'>): boolean => step.state === 'stuck' && !isUndecided(step)

/** Whether the erasure includes threads of the checkpoint store that are not finished. */
export const hasThreads = ({ state, steps }: Pick<Run, 'state' | 'steps'>): boolean =>
  state !== 'done' &&
  steps.some((step) => step.holder === 'checkpoints.threads' && step.planned > 0 && step.state !== 'done')
