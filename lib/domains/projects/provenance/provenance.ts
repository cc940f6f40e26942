import { projectReaderOf, readableProject, writableProject } from '#lib/domains/projects/access.ts'
import { possibleSql, shownSql } from '#lib/domains/projects/chosen-ids.ts'
import { existingSource } from '#lib/domains/projects/existing-rows.ts'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { type Issue, Problem } from '#lib/kernel/problem.ts'
import { scopedId, shownId } from '#lib/kernel/scoped-ids.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { claimPlaces } from './claims.ts'
import { listProvenance, type PointerView, reportProvenance } from './contract.ts'
import { type ConfiningPorts, confine, type ReportedPointer, store } from './pointers.ts'

interface PointerRow extends Omit<PointerView, 'at' | 'place'> {
  place: string
  at: Date
}

/** SQL: locks sources, so that no erasure of them can begin. A source that is being erased accepts no pointers. */
const lockSources = `WITH g AS MATERIALIZED (SELECT unnest(${possibleSql('$1::text', 'i')}) AS id FROM unnest($2::text[]) AS i),
  m AS MATERIALIZED (SELECT m.id, m.erasing_since, m.conversation_id FROM messages m
    WHERE m.project_id = $1 AND m.id IN (SELECT id FROM g) ORDER BY m.id FOR KEY SHARE),
  d AS MATERIALIZED (SELECT d.id, d.erasing_since FROM documents d
    WHERE d.project_id = $1 AND d.id IN (SELECT id FROM g) ORDER BY d.id FOR KEY SHARE)
  SELECT m.id, 'message' AS kind, m.erasing_since IS NOT NULL OR c.erasing_since IS NOT NULL AS is_erasing
    FROM m JOIN conversations c ON c.id = m.conversation_id
  UNION ALL SELECT d.id, 'document', d.erasing_since IS NOT NULL FROM d`

/** Use cases for the provenance ledger. It contains pointers and no content. */
export const projectProvenance = ({ db, ...ports }: Pick<ProjectPorts, 'db' | 'withCheckpoints'> & ConfiningPorts) => ({
  reportProvenance: mutation(reportProvenance, async (ctx, { params: { projectId }, body: { entries } }) => {
    const { tx, actor, now } = ctx
    const project = await writableProject(tx, projectReaderOf(ctx), projectId)
    const ids = [...new Set(entries.map(({ source_id }) => source_id))]
    const rows = await queryWithin<{ id: string; kind: 'message' | 'document'; is_erasing: boolean }>(
      tx,
      'lock-sources',
      lockSources,
      [projectId, ids],
    )
    // Clients may also use stored ids.
    const found = new Map(rows.flatMap((row) => [[row.id, row] as const, [shownId(row.id), row] as const]))
    const issues = entries.flatMap(({ source_id }, index): Issue[] =>
      found.has(source_id)
        ? []
        : [
            {
              path: ['entries', index, 'source_id'],
              message: `names no message or document of this project: ${source_id}`,
            },
          ],
    )
    if (issues.length > 0)
      throw new Problem('invalid', {
        detail: `${issues.length} of ${entries.length} entries name nothing of this project. None was kept.`,
        issues: issues.slice(0, 100),
      })
    if (rows.some(({ is_erasing }) => is_erasing))
      throw new Problem(
        'fenced',
        'Some of these are being erased: nothing more is written down about them. None of the entries was kept; erase what came of them where it lies.',
      )
    const reported = entries.flatMap(({ source_id, ...entry }, index): ReportedPointer[] => {
      const source = found.get(source_id)
      return source ? [{ ...entry, source: source.id, kind: source.kind, path: ['entries', index] }] : []
    })
    await confine(tx, actor, project, reported, ports)
    await claimPlaces(ports, tx, actor, projectId, reported)
    const stored = await store(tx, reported, { projectId, toldBy: actor.id, now })
    return {
      body: { data: { received: entries.length, stored, known: entries.length - stored } },
      resourceId: projectId,
      details: { received: entries.length, stored },
    }
  }),

  provenance: read(listProvenance, async (ctx, { params: { projectId }, query: { source_id, cursor, limit } }) => {
    await readableProject(db, projectReaderOf(ctx), projectId)
    const after = parseCursor(cursor)
    const rows = await db.query<PointerRow>(
      'provenance-page',
      `SELECT id, source_kind, ${shownSql('source_id')} AS source_id, store, ref, place, ended, told_by, at FROM provenance v
       WHERE project_id = $1 AND ($2::text IS NULL OR source_id = ANY(${possibleSql('$1::text', '$2::text')})) AND (at, id) < ($3::timestamptz, $4) AND ${existingSource('v')}
       ORDER BY at DESC, id DESC LIMIT $5`,
      [projectId, source_id ?? null, after?.at ?? 'infinity', after?.id ?? '', limit + 1],
    )
    const total = await db.prisma.provenance.count({
      where: {
        projectId,
        ...(source_id !== undefined && { sourceId: { in: [source_id, scopedId(projectId, source_id)] } }),
      },
    })
    const { shown, page } = pageOf(rows, limit, total, ({ at, id }) => ({ at, id }))
    return {
      resourceId: projectId,
      details: { count: shown.length },
      body: {
        data: shown.map((row) => ({ ...row, place: row.place === '' ? null : row.place, at: row.at.toISOString() })),
        ...page,
      },
    }
  }),
})
