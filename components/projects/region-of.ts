import { isWithin } from '#lib/kernel/region-rules.ts'

interface Placed {
  region: string | null
}
/** The region that a conversation is stored in: its own, or that of its project. */
export const regionOf = (conversation: Placed, project: Placed): string | null => conversation.region ?? project.region

/** The regions that a new conversation of the project can have, of those that can be chosen here. */
export const regionsWithin = (project: Placed, choosable: readonly string[]): string[] =>
  choosable.filter((region) => isWithin(region, project.region))
