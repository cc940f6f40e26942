import type { CheckView } from './contract.ts'

/** From what nobody has to look at to what somebody must. */
const order = [
  'not_applicable',
  'holds',
  'unknown',
  'attention',
  'fails',
] as const satisfies readonly CheckView['state'][]

/** The worst of the states of a line's checks; a line without any is nothing that anybody looked at. */
export const worstOf = (states: readonly CheckView['state'][]): CheckView['state'] =>
  states.length === 0
    ? 'unknown'
    : states.reduce((worst, state) => (order.indexOf(state) > order.indexOf(worst) ? state : worst))
