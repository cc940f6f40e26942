/** A name for use inside a sentence, in Unicode isolates, so that a right-to-left name does not affect the rest (UAX #9). */
export const isolated = (name: string): string => `\u2068${name}\u2069`

/** Display name of an agent: its name, or its id if it has none. */
export const agentTitle = ({ name, agent_id }: { name: string | null; agent_id: string }): string =>
  isolated(name ?? agent_id)

/** Number format of a reputation. */
export const score = { minimumFractionDigits: 2, maximumFractionDigits: 2 }
