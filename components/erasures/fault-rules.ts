import type { Run } from './places.ts'

/** What a step stands still on: a code, and the thread that cannot be rewritten where it is about one. */
export function faultParts(fault: string | null): { code: string; thread: string | null } {
  const [code = '', ...rest] = (fault ?? 'internal').split(':')
  const thread = rest.join(':')
  return { code, thread: code === 'conflict' && thread !== '' ? thread : null }
}

type Step = Run['steps'][number]
/** A thread cannot be rewritten: the step waits for a decision, and retrying it changes nothing. */
export const isUndecided = ({ state, fault }: Pick<Step, 'state' | 'fault'>): boolean =>
  state === 'stuck' && faultParts(fault).thread !== null
/** It gave up after failures. */
export const isStuck = (step: Pick<Step, 'state' | 'fault'>): boolean => step.state === 'stuck' && !isUndecided(step)

/** Whether the erasure has threads that it cannot rewrite, and has not finished with them. */
export const hasThreads = ({ state, steps }: Pick<Run, 'state' | 'steps'>): boolean =>
  state !== 'done' &&
  steps.some((step) => step.holder === 'checkpoints.threads' && step.planned > 0 && step.state !== 'done')
