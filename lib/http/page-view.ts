import type { PipelinePorts } from '#lib/kernel/context.ts'

/** The reads of one page view: each stored audit entry, by who read what. */
export type PageView = Map<string, Promise<void>>

/**
 * Writes one audit entry for equal reads of one page view: by the same actor, of the same resource, with the same details. Every read still
 * waits until the entry is stored.
 */
export const auditedOnce = (pipeline: PipelinePorts, view: PageView): PipelinePorts => ({
  ...pipeline,
  auditGrouped(record) {
    const { actorId, action, resourceType, resourceId, details } = record
    const key = JSON.stringify([actorId, action, resourceType, resourceId, details])
    const stored = view.get(key) ?? pipeline.auditGrouped(record)
    view.set(key, stored)
    return stored
  },
})
