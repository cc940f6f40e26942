const hour = 3_600_000
/** Retention of an exchange in milliseconds. No setting extends it. */
export const exchangeRetention = 24 * hour
/** An exchange that has been expired for longer than this raises an alarm. */
export const latest = hour
/** Maximum bytes of an exchange as it is sent. */
export const exchangeBytes = 128 * 1024
export const maxMessages = 1_000
/** Maximum unexpired exchanges of one agent. */
export const maxStoredExchanges = 10_000

export const exchangeRoles = ['system', 'developer', 'user', 'assistant', 'tool'] as const
export const exchangeIdForm = /^llm_[0-9A-Za-z]{22}$/
/** Model names as providers write them. */
export const modelForm = /^[\w.:/@+-]{1,100}$/
