/** Retention period of project data, in words. A project ends when it is closed, so there is no fixed period. */
export const untilErased = 'until it is erased, or 30 days after its project is closed'
