const hour = 3_600_000
/** Milliseconds that an exchange stays. Fixed: no setting makes it longer. */
export const logKept = 24 * hour
/** Past its end by so much, what still stands is late, and somebody is told. */
export const latest = hour
/** Bytes of one exchange as it is sent. */
export const exchangeBytes = 128 * 1024
export const mostMessages = 1_000
/** Exchanges of one agent that stand at once. */
export const mostStanding = 10_000

export const messageRoles = ['system', 'developer', 'user', 'assistant', 'tool'] as const
export const idForm = /^llm_[0-9A-Za-z]{22}$/
/** As providers call models. */
export const modelForm = /^[\w.:/@+-]{1,100}$/
