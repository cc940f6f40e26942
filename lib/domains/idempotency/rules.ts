/** Retention of a response, in milliseconds. */
export const replyRetention = 24 * 3_600_000

/** Milliseconds after which a key without a response is free again: its process ended during work in several transactions. */
export const abandonedAfter = 3_600_000

/** Status of a response whose resource was erased. */
export const erasedStatus = 410
/** Status of a response that was withdrawn, because its content was corrected or erased since. */
export const withdrawnStatus = 409
