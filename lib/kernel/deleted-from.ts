import { z } from 'zod'
import type { RunView, StepView } from './erasure-run.ts'

/** The stores from which an erasure run deleted data, and how much, under the names of the API. */
export const DeletedFrom = z
  .strictObject({
    postgresql: z.boolean().meta({ description: 'Whether all its rows are deleted' }),
    graphiti: z.strictObject({
      episodesDeleted: z.number().int(),
      entitiesDeleted: z.number().int(),
      entitiesOrphaned: z
        .number()
        .int()
        .meta({ description: 'Retained because other data mentions them. The link to the erased data is deleted' }),
    }),
    redis: z.boolean().meta({ description: 'Whether all its cached answers are deleted, whichever cache is used' }),
    checkpoints: z.strictObject({ threads: z.number().int(), messages: z.number().int() }),
    objects: z.number().int(),
  })
  .meta({ id: 'DeletedFrom' })
export type DeletedFrom = z.output<typeof DeletedFrom>

/** True only when every store is erased and verified, and no legal hold retained anything. */
export const isErased = ({ state }: Pick<RunView, 'state'>): boolean => state === 'done'

type Progress = Pick<RunView, 'state' | 'steps'>
/** False while the run is in planning, because not every step is known yet, and false when a step has residue. */
const emptied = ({ state, steps }: Progress, store: string): boolean => {
  const own = steps.filter((step) => step.store === store)
  const isDone = ({ state, held, residue }: StepView) => state === 'done' && held.length === 0 && (residue ?? 0) === 0
  return state !== 'planning' && own.length > 0 && own.every(isDone)
}

/** What the run has deleted so far, by store. */
export function deletedFrom(run: Progress): DeletedFrom {
  const { steps } = run
  const counted = (store: string, name: string): number =>
    steps.filter((step) => step.store === store).reduce((sum, { results }) => sum + (results[name] ?? 0), 0)
  return {
    postgresql: emptied(run, 'postgresql'),
    graphiti: {
      episodesDeleted: counted('graph', 'episodesDeleted'),
      entitiesDeleted: counted('graph', 'entitiesDeleted'),
      entitiesOrphaned: counted('graph', 'entitiesOrphaned'),
    },
    redis: emptied(run, 'cache'),
    checkpoints: { threads: counted('checkpoints', 'threads'), messages: counted('checkpoints', 'messages') },
    objects: counted('objects', 'objects'),
  }
}
