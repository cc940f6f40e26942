'use client'

import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import type { ShownColumn } from '#components/ui/table-column.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { CauseList } from './cause-list.tsx'
import { type Erasure, isLive } from './endpoints.ts'
import { ErasureDuration } from './erasure-duration.tsx'

export const runTones = {
  planning: 'progress',
  erasing: 'progress',
  verifying: 'progress',
  held: 'warning',
  done: 'success',
  failed: 'danger',
} as const
export const erasureHref = ({ run_id }: Erasure): string => `/admin/erasures/${run_id}`

/** The subject by name while it exists, otherwise by kind. Only a restored database starts a deletion without a request. */
function useSubjectName() {
  const t = useTranslations('erasures.who')
  return ({ subject, subject_name, request_id }: Pick<Erasure, 'subject' | 'subject_name' | 'request_id'>): string =>
    subject_name ?? t(subject ?? (request_id === null ? 'replayed' : 'unknown'))
}

/** The number of erased records, with a progress bar while the erasure runs. */
function Records({ erasure }: { erasure: Erasure }) {
  const t = useTranslations('erasures')
  const { planned, erased, held } = erasure
  if (held > 0) return t('recordsHeld', { erased, planned: planned + held, held })
  if (planned === 0) return <span className="text-quiet">{t('notYet')}</span>
  return (
    <span className="grid gap-1">
      {t('records', { erased, planned })}
      {isLive(erasure) && <ProgressBar value={erased} max={planned} label={t('recordsOf', { erased, planned })} />}
    </span>
  )
}

function Status({ erasure: { state, stuck, causes } }: { erasure: Erasure }) {
  const t = useTranslations('erasures')
  return (
    <div className="grid gap-1">
      <span className="flex flex-wrap gap-1">
        <Badge tone={runTones[state]} hasDot>
          {t(`states.${state}`)}
        </Badge>
        {stuck > 0 && <Badge tone="danger">{t('stuck', { count: stuck })}</Badge>}
      </span>
      {causes.length > 0 && <CauseList causes={causes} isOver={state === 'done'} />}
    </div>
  )
}

export function useErasureColumns(): ShownColumn<Erasure>[] {
  const t = useTranslations('erasures')
  const nameOf = useSubjectName()
  return [
    {
      key: 'who',
      title: t('columns.who'),
      main: true,
      minWidth: 'medium',
      value: nameOf,
      cell: (erasure) => <TextLink href={erasureHref(erasure)}>{nameOf(erasure)}</TextLink>,
    },
    {
      key: 'state',
      title: t('columns.state'),
      phone: 'beside',
      value: ({ state }) => t(`states.${state}`),
      cell: (erasure) => <Status erasure={erasure} />,
    },
    {
      key: 'records',
      title: t('columns.records'),
      numeric: true,
      value: ({ erased }) => erased,
      cell: (erasure) => <Records erasure={erasure} />,
    },
    {
      key: 'began',
      title: t('columns.began'),
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} show="relative" />,
    },
    { key: 'duration', title: t('columns.duration'), cell: (erasure) => <ErasureDuration erasure={erasure} /> },
    {
      key: 'receipt',
      title: t('receipt'),
      phone: 'plain',
      value: ({ receipt_id }) => receipt_id,
      cell: ({ receipt_id }) =>
        receipt_id === null ? (
          <span className="text-quiet">{t('notYet')}</span>
        ) : (
          <TextLink href={`/receipts/${receipt_id}`}>{t('receipt')}</TextLink>
        ),
    },
    {
      key: 'run',
      title: t('columns.run'),
      phone: 'hidden',
      value: ({ run_id }) => run_id,
      cell: ({ run_id }) => <CopyableId id={run_id} what={t('columns.run')} longest={18} />,
    },
  ]
}
