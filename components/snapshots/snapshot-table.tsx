'use client'

import { useTranslations } from 'next-intl'
import type { ComponentProps } from 'react'
import { useSizes } from '#components/projects/sizes.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Snapshot } from './endpoints.ts'
import { clockOf } from './snapshot-rules.ts'

const tones = { preparing: 'progress', ready: 'success', failed: 'danger' } as const
const secrets = ['private_key', 'seed_phrase', 'api_key', 'credential', 'too_deep'] as const

interface SnapshotTableProps {
  rows: readonly Snapshot[]
  pages: NonNullable<ComponentProps<typeof DataTable<Snapshot>>['pages']>
  now: Date
  /** Automatic snapshots will follow. */
  isExpected: boolean
  onLink: (snapshot: Snapshot) => void
  /** Undefined if the reader may not delete. */
  onRemove?: (snapshot: Snapshot) => void
}

/** The snapshots of an agent, newest first. */
export function SnapshotTable({ rows, pages, now, isExpected, onLink, onRemove }: SnapshotTableProps) {
  const t = useTranslations('agentSnapshots')
  const columns = useSnapshotColumns({ now, onLink, ...(onRemove && { onRemove }) })
  return (
    <DataTable
      name="snapshots"
      label={t('list.label')}
      rows={rows}
      pages={pages}
      rowKey={({ id }) => id}
      columns={columns}
      empty={
        <EmptyState title={t(isExpected ? 'list.none' : 'list.noneEver')}>
          {isExpected && <p>{t('list.noneText')}</p>}
        </EmptyState>
      }
    />
  )
}

function useSnapshotColumns({
  now,
  onLink,
  onRemove,
}: Pick<SnapshotTableProps, 'now' | 'onLink' | 'onRemove'>): ShownColumn<Snapshot>[] {
  const t = useTranslations('agentSnapshots')
  const size = useSizes()
  return [
    {
      key: 'created',
      title: t('columns.created'),
      main: true,
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      key: 'kind',
      title: t('columns.kind'),
      value: ({ kind }) => t(`kinds.${kind}`),
    },
    {
      key: 'state',
      title: t('columns.state'),
      minWidth: 'medium',
      value: ({ state }) => t(`states.${state}`),
      cell: (snapshot) => <SnapshotState snapshot={snapshot} />,
    },
    {
      key: 'size',
      title: t('columns.size'),
      numeric: true,
      value: ({ bytes }) => bytes,
      cell: ({ bytes }) => (bytes === null ? '–' : size(bytes)),
    },
    {
      key: 'expires',
      title: t('columns.expires'),
      minWidth: 'medium',
      value: ({ expires_at }) => expires_at,
      cell: (snapshot) => <Expiry snapshot={snapshot} now={now} />,
    },
    {
      key: 'id',
      title: t('entry.id'),
      value: ({ id }) => id,
      cell: ({ id }) => <CopyableId id={id} what={t('entry.id')} longest={16} />,
    },
    {
      key: 'sha256',
      title: 'SHA-256',
      isHiddenAtFirst: true,
      value: ({ sha256 }) => sha256,
      cell: ({ sha256 }) => (sha256 === null ? '–' : <CopyableId id={sha256} what="SHA-256" longest={16} />),
    },
    {
      key: 'actions',
      title: t('columns.actions'),
      isTitleHidden: true,
      cell: (snapshot) => (
        <span className="flex flex-wrap gap-2">
          {snapshot.state === 'ready' && (
            <Button
              size="small"
              tone="plain"
              onClick={() => onLink(snapshot)}
              aria-label={t('entry.linkNamed', { id: snapshot.id })}
            >
              {t('entry.link')}
            </Button>
          )}
          {onRemove && (
            <Button
              size="small"
              tone="plain"
              onClick={() => onRemove(snapshot)}
              aria-label={t('entry.removeNamed', { id: snapshot.id })}
            >
              {t('entry.remove')}
            </Button>
          )}
        </span>
      ),
    },
  ]
}

function SnapshotState({ snapshot: { state, failure } }: { snapshot: Snapshot }) {
  const t = useTranslations('agentSnapshots')
  return (
    <div className="grid gap-1">
      <span>
        <Badge tone={tones[state]} hasDot>
          {t(`states.${state}`)}
        </Badge>
      </span>
      {state === 'failed' && <Failure failure={failure ?? []} />}
    </div>
  )
}

function Expiry({ snapshot, now }: { snapshot: Snapshot; now: Date }) {
  const t = useTranslations('agentSnapshots')
  const { state, expires_at: until } = snapshot
  if (until === null) return state === 'ready' ? t('entry.stays') : '–'
  return (
    <span className={clockOf(snapshot, now) === 'little' ? 'text-amber' : undefined}>
      <Time at={until} relative />
    </span>
  )
}

/** Why the snapshot was not stored. */
function Failure({ failure }: { failure: NonNullable<Snapshot['failure']> }) {
  const t = useTranslations('agentSnapshots')
  const kindName = useTranslations('sensitiveKinds')
  const { colon } = usePunctuation()
  const nameOf = (kind: string) => {
    const known = secrets.find((one) => one === kind)
    return known ? kindName(known) : kind
  }
  // One place may contain several findings of the same kind.
  const places = new Map(failure.map((place) => [`${place.kind} ${place.path}`, place]))
  if (failure.length === 0) return <p>{t('failed.unknown')}</p>
  return (
    <>
      <p>{t('failed.text', { count: places.size })}</p>
      <ul className="grid gap-0.5">
        {[...places.values()].map(({ kind, path }) => (
          <li key={`${kind} ${path}`}>
            {`${nameOf(kind)}${colon}`}
            <code className="font-mono text-[0.8125rem] wrap-anywhere">{path}</code>
          </li>
        ))}
      </ul>
      <p className="text-quiet">{t('failed.do')}</p>
    </>
  )
}
