/** Names of admins by account ID. */
export type AdminNames = Readonly<Record<string, string>>

/** The name of an actor such as `user:usr_…`; the ID itself if the account is unknown. */
export const nameIn = (names: AdminNames, actor: string): string => names[actor.replace(/^user:/, '')] ?? actor
