import type { z } from 'zod'
import type { Actor, Context, PipelinePorts } from './context.ts'
import { newId } from './ids.ts'
import { traceJob } from './tracing.ts'

/** Work that the worker does outside a request. Its payload contains only ids and counts. */
export interface Job<P = unknown> {
  /** domain.verb */
  name: string
  payload: z.ZodType<P>
  /** A schedule of five fields in UTC. The payload of a scheduled job is `{}`. */
  cron?: string
  /** Runs a scheduled job when the worker starts at most this many milliseconds late. */
  catchUp?: number
  run(ctx: Context, payload: P): Promise<void>
}
export interface RunnableJob {
  name: string
  cron: string | undefined
  catchUp: number
  execute(pipeline: PipelinePorts, payload: unknown): Promise<void>
}

const systemActor = (job: string): Actor => ({
  kind: 'system',
  id: `system:${job}`,
  organisationId: undefined,
  agents: [],
  isAdmin: true,
  isRestricted: false,
  scopes: [],
  quota: { unitBytes: 0, batch: 0, exportsPerDay: null },
  can: () => true,
})

/** Makes a job runnable: its payload is validated, and its actor is `system:<job>`. */
export const job = <P>(shape: Job<P>): RunnableJob => ({
  name: shape.name,
  cron: shape.cron,
  catchUp: shape.catchUp ?? 0,
  execute: (pipeline, payload) =>
    traceJob(shape.name, async () =>
      shape.run(
        { actor: systemActor(shape.name), ip: '', requestId: newId('job'), pipeline, now: pipeline.clock.now() },
        shape.payload.parse(payload),
      ),
    ),
})
