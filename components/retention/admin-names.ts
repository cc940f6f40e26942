/** Names of admins by account ID. */
export type AdminNames = Readonly<Record<string, string>>

const accountOf = (actor: string): string => actor.replace(/^user:/, '')
/** The name of an actor such as `user:usr_…`; the ID itself if the account is unknown. */
export const nameIn = (names: AdminNames, actor: string): string => names[accountOf(actor)] ?? accountOf(actor)
