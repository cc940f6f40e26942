/** How long what is in a project is kept, in words: projects end by being closed, so no term runs. */
export const untilErased = 'until it is erased, or 30 days after its project is closed'
