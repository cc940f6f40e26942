'use client'

import { useFormatter, useNow, useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { Button, PlainButtonLink } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { ExportView } from '#lib/domains/exports/contract.ts'
import { exportSizeOf, exportStatus } from './export-rules.ts'

const tones = {
  queued: 'neutral',
  running: 'progress',
  ready: 'success',
  expired: 'neutral',
  failed: 'danger',
} as const

/** One export: its progress, its file while that exists, and its final state. */
export function ExportEntry({ entry, onRemove }: { entry: ExportView; onRemove: () => void }) {
  const t = useTranslations('exports')
  const format = useFormatter()
  const now = useNow({ updateInterval: 30_000 })
  const status = exportStatus(entry, now)
  const shown = status === 'erased' ? 'expired' : status
  const what = t(`scopes.${entry.scope}`)
  const { value, unit } = exportSizeOf(entry.bytes ?? 0)
  const size = format.number(value, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 })
  const isGoing = status === 'queued' || status === 'running'
  const removal = t(isGoing ? 'giveUp' : 'remove')
  return (
    <li className="grid gap-2 px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="grid min-w-0 grow basis-64 gap-0.5">
          <p className="flex flex-wrap items-center gap-2 font-medium">
            {what}
            <Badge tone={tones[shown]} hasDot>
              {t(`states.${shown}`)}
            </Badge>
          </p>
          <p className="text-sm text-quiet">
            {t.rich('begun', { time: () => <Time at={entry.created_at} /> })}
            {entry.request_id !== null && (
              <>
                {' · '}
                {t.rich('ofRequest', {
                  link: (words) => <TextLink href={`/settings/privacy/requests/${entry.request_id}`}>{words}</TextLink>,
                })}
              </>
            )}
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          {status === 'ready' && (
            <PlainButtonLink
              href={`/api/privacy/exports/${entry.id}/file`}
              download
              size="small"
              aria-label={t('downloadNamed', { what, size })}
            >
              {t('download')}
            </PlainButtonLink>
          )}
          {(isGoing || status === 'ready') && (
            <Button tone="plain" size="small" onClick={onRemove} aria-label={t('removeNamed', { removal, what })}>
              {removal}
            </Button>
          )}
        </div>
      </div>
      {isGoing && (
        <div className="grid gap-1">
          <ProgressBar value={entry.parts_done} max={entry.parts_total} label={t('progressLabel')} />
          <p className="text-sm text-quiet tabular-nums">
            {entry.parts_total === 0
              ? t('soon')
              : t('progress', { done: entry.parts_done, total: entry.parts_total, records: entry.records })}
          </p>
        </div>
      )}
      {status === 'ready' && (
        <div className="grid gap-0.5 text-sm">
          <p>
            {t('records', { records: entry.records, size })}
            {entry.expires_at !== null && (
              <>
                {' · '}
                {t.rich('left', { time: () => <Time at={entry.expires_at ?? ''} relative /> })}
              </>
            )}
          </p>
          {entry.sha256 !== null && (
            <p className="text-quiet">
              {t('sha')} <CopyableId id={entry.sha256} what={t('shaCopy')} />
            </p>
          )}
          {entry.downloaded_at !== null && (
            <p className="text-quiet">{t.rich('fetched', { time: () => <Time at={entry.downloaded_at ?? ''} /> })}</p>
          )}
        </div>
      )}
      {(status === 'expired' || status === 'erased' || status === 'failed') && (
        <p className="text-sm text-quiet">{t(status)}</p>
      )}
    </li>
  )
}
