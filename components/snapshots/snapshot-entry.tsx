'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useSizes } from '#components/projects/sizes.ts'
import { Button } from '#components/ui/button.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Snapshot } from './endpoints.ts'
import { clockOf } from './snapshot-rules.ts'

const tones = { preparing: 'plain', ready: 'accent', failed: 'red' } as const

const secrets = ['private_key', 'seed_phrase', 'api_key', 'credential', 'too_deep'] as const

interface SnapshotEntryProps {
  snapshot: Snapshot
  now: Date
  onLink: () => void
  /** Undefined if the reader may not delete. */
  onRemove?: () => void
}
/** One snapshot: its state, its expiry, and why it failed. */
export function SnapshotEntry({ snapshot, now, onLink, onRemove }: SnapshotEntryProps) {
  const t = useTranslations('agentSnapshots')
  const { id, kind, state, bytes, sha256, created_at, expires_at, failure } = snapshot
  return (
    <li data-snapshot={id} className="grid gap-2 px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="grid min-w-0 grow basis-64 gap-0.5">
          <p className="flex flex-wrap items-center gap-2 font-medium">
            {t(`kinds.${kind}`)}
            <Tag tone={tones[state]}>{t(`states.${state}`)}</Tag>
          </p>
          <p className="text-sm text-quiet">{t.rich('entry.begun', { time: () => <Time at={created_at} /> })}</p>
        </div>
        <div className="flex flex-wrap gap-2">
          {state === 'ready' && (
            <Button size="small" tone="plain" onClick={onLink} aria-label={t('entry.linkNamed', { id })}>
              {t('entry.link')}
            </Button>
          )}
          {onRemove && (
            <Button size="small" tone="plain" onClick={onRemove} aria-label={t('entry.removeNamed', { id })}>
              {t('entry.remove')}
            </Button>
          )}
        </div>
      </div>
      {state === 'preparing' && <ProgressBar value={0} max={0} label={t('entry.preparing')} />}
      {state === 'ready' && <Ready snapshot={snapshot} bytes={bytes ?? 0} now={now} />}
      {state === 'failed' && <Failed failure={failure ?? []} />}
      <p className="text-sm text-quiet">
        {t('entry.id')} <ShortId id={id} what={t('entry.id')} />
        {sha256 !== null && (
          <>
            {' · SHA-256 '}
            <ShortId id={sha256} what="SHA-256" />
          </>
        )}
      </p>
      {state === 'failed' && expires_at !== null && (
        <p className="text-sm text-quiet">
          {t.rich('entry.shownUntil', { time: () => <Time at={expires_at} relative /> })}
        </p>
      )}
    </li>
  )
}

function Ready({ snapshot, bytes, now }: { snapshot: Snapshot; bytes: number; now: Date }) {
  const t = useTranslations('agentSnapshots')
  const format = useFormatter()
  const size = useSizes()
  const until = snapshot.expires_at
  return (
    <p className="text-sm">
      {t('entry.size', { size: size(bytes) })}
      {' · '}
      {until === null ? (
        t('entry.stays')
      ) : (
        <span className={clockOf(snapshot, now) === 'little' ? 'text-amber' : undefined}>
          {t.rich('entry.until', { left: format.relativeTime(new Date(until), now), time: () => <Time at={until} /> })}
        </span>
      )}
    </p>
  )
}

function Failed({ failure }: { failure: NonNullable<Snapshot['failure']> }) {
  const t = useTranslations('agentSnapshots')
  const nameOf = (kind: string) => {
    const known = secrets.find((one) => one === kind)
    return known ? t(`secrets.${known}`) : kind
  }
  // One place may contain several findings of the same kind.
  const places = new Map(failure.map((place) => [`${place.kind} ${place.path}`, place]))
  if (failure.length === 0) return <p className="text-sm">{t('failed.unknown')}</p>
  return (
    <div className="grid gap-1 text-sm">
      <p>{t('failed.text', { count: places.size })}</p>
      <ul className="grid gap-0.5">
        {[...places.values()].map(({ kind, path }) => (
          <li key={`${kind} ${path}`}>
            {nameOf(kind)}: <code className="font-mono text-[0.8125rem] [overflow-wrap:anywhere]">{path}</code>
          </li>
        ))}
      </ul>
      <p className="text-quiet">{t('failed.do')}</p>
    </div>
  )
}
