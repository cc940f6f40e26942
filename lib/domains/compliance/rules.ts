import type { CheckView } from './contract.ts'

/** In ascending order of severity. */
const order = [
  'not_applicable',
  'holds',
  'unknown',
  'attention',
  'fails',
] as const satisfies readonly CheckView['state'][]

/** The worst state of a line's checks. A line without checks is unknown. */
export const worstOf = (states: readonly CheckView['state'][]): CheckView['state'] =>
  states.length === 0
    ? 'unknown'
    : states.reduce((worst, state) => (order.indexOf(state) > order.indexOf(worst) ? state : worst))
