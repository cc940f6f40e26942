'use client'

import { clsx } from 'clsx'
import { useFormatter, useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button, PlainButtonLink } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { Space } from '#components/ui/punctuation.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { deleteExport, ExportView, listExports, prepareExport } from '#lib/domains/exports/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { exportPollInterval, exportSizeOf, exportStatus } from './export-rules.ts'

const tones = {
  queued: 'neutral',
  running: 'progress',
  ready: 'success',
  expired: 'neutral',
  failed: 'danger',
} as const

/** One export: its progress, its file while that exists, and its final state. */
function ExportEntry({ entry, onRemove }: { entry: ExportView; onRemove: () => void }) {
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

export const exportsAt: Endpoint<typeof listExports> = { method: 'get', path: '/api/privacy/exports' }
const prepareAt: Endpoint<typeof prepareExport> = { method: 'post', path: '/api/privacy/exports' }
const deleteAt: Endpoint<typeof deleteExport> = { method: 'delete', path: '/api/privacy/exports/{id}' }
export type Exports = Output<typeof listExports>

/** The number of remaining exports from which the page shows it. */
const shownFrom = 20

interface ExportDeskProps {
  initial: Exports
  /** For use beside a decision: offers only the full export, with shorter text. */
  isBrief?: boolean
}

/** Starts exports and lists those of the last day. They run on the server, so they continue while the page is closed. */
export function ExportDesk({ initial, isBrief = false }: ExportDeskProps) {
  const t = useTranslations('exports')
  const copy = useTranslations('deletion.copy')
  const list = useApiQuery(exportsAt, {}, { initial, every: (data) => exportPollInterval(data?.data ?? []) })
  const change = { touches: ['/api/privacy/exports'], isQuiet: true }
  const beginning = useApiMutation(prepareAt, change)
  const removal = useApiMutation(deleteAt, change)
  const [removing, setRemoving] = useState<string>()
  const { data, quota } = list.data ?? initial
  const left = quota.limit === null ? null : Math.max(0, quota.limit - quota.used)
  const scopes = isBrief ? (['all'] as const) : (['all', 'provided'] as const)
  const wasGoing = initial.data.some(({ state }) => state === 'queued' || state === 'running')
  const problem = beginning.problem ?? (list.problem?.code === 'unreachable' ? undefined : list.problem)
  const begin = (scope: (typeof scopes)[number]) => beginning.begin({ body: { scope } })
  return (
    <div className="grid gap-5">
      <div className={isBrief ? 'grid gap-4' : 'grid gap-4 sm:grid-cols-2'}>
        {scopes.map((scope) => (
          <div
            key={scope}
            className={clsx(
              'grid content-between justify-items-start gap-3',
              !isBrief && 'rounded-box border border-line bg-raised px-4 py-3',
            )}
          >
            {!isBrief && (
              <div className="grid gap-1">
                <h3 className="font-medium">{t(`${scope}.title`)}</h3>
                <p className="text-sm text-quiet">{t(`${scope}.text`)}</p>
              </div>
            )}
            <Button
              tone="plain"
              aria-disabled={beginning.isPending || left === 0}
              onClick={() => {
                if (left !== 0) begin(scope)
              }}
            >
              {beginning.isPending && beginning.variables?.body?.scope === scope
                ? t('busy')
                : isBrief
                  ? copy('prepare')
                  : t(`${scope}.button`)}
            </Button>
          </div>
        ))}
      </div>
      {problem && <ProblemAlert problem={problem} />}
      <p className="text-sm text-quiet">
        {!isBrief && (
          <>
            {t('form')}
            <Space />
          </>
        )}
        {left !== null &&
          left <= shownFrom &&
          t.rich('quota', { left, time: () => <Time at={quota.resets_at} show="relative" /> })}
      </p>
      <p role="status" className="sr-only">
        {(wasGoing || beginning.isSuccess) && data[0]?.state === 'ready' && t('ready')}
      </p>
      {data.length === 0 ? (
        !isBrief && <p className="text-quiet">{t('none')}</p>
      ) : (
        <ul aria-label={t('list')} className="divide-y divide-line rounded-box border border-line bg-raised">
          {data.map((entry) => (
            <ExportEntry key={entry.id} entry={entry} onRemove={() => setRemoving(entry.id)} />
          ))}
        </ul>
      )}
      <Confirm
        open={removing !== undefined}
        onOpenChange={(open) => !open && setRemoving(undefined)}
        title={t('removeTitle')}
        consequences={<p>{t('removeText')}</p>}
        action={t('removeAction')}
        change={removal}
        onConfirm={() => {
          if (removing !== undefined) removal.begin({ params: { id: removing } }, () => setRemoving(undefined))
        }}
      />
    </div>
  )
}
