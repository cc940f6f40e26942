/** A name as a part of a sentence: text that runs the other way stays within it (Unicode UAX #9, isolates). */
export const isolated = (name: string): string => `\u2068${name}\u2069`

/** What an agent is called: by its name, or by its id where nobody gave it one. */
export const agentTitle = ({ name, agent_id }: { name: string | null; agent_id: string }): string =>
  isolated(name ?? agent_id)

/** How a reputation is written. */
export const score = { minimumFractionDigits: 2, maximumFractionDigits: 2 }
