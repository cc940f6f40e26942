'use client'

import { useTranslations } from 'next-intl'
import { Button } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import type { ShownColumn } from '#components/ui/table-column.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Hold, HoldView } from './endpoints.ts'

/** The name of the target, otherwise its id. */
export const targetName = ({ target_name, target_id }: Hold): string => target_name ?? target_id

function EndCell({ hold }: { hold: Hold }) {
  const t = useTranslations('holds')
  const { active, expires_at, released_at } = hold
  if (released_at !== null) return t.rich('released', { time: () => <Time at={released_at} show="relative" /> })
  if (expires_at === null) return t('untilReleased')
  return active ? (
    <Time at={expires_at} show="both" />
  ) : (
    t.rich('ended', { time: () => <Time at={expires_at} show="relative" /> })
  )
}

function Target({ hold }: { hold: Hold }) {
  const t = useTranslations('holds')
  const { kind, target_id, target_name } = hold
  return (
    <span className="grid gap-0.5">
      {target_name !== null && <span>{target_name}</span>}
      <CopyableId id={target_id} what={t('new.target')} />
      <span className="text-sm font-normal text-quiet">{t(`kinds.${kind}`)}</span>
    </span>
  )
}

/** The columns of the table of active or ended holds. */
export function useHoldColumns(view: HoldView, onRelease: (hold: Hold) => void): ShownColumn<Hold>[] {
  const t = useTranslations('holds')
  const release: ShownColumn<Hold> = {
    key: 'release',
    title: t('release'),
    isTitleHidden: true,
    cell: (hold) => (
      <Button
        tone="plain"
        size="small"
        aria-label={t('releaseNamed', { target: targetName(hold) })}
        onClick={() => onRelease(hold)}
      >
        {t('release')}
      </Button>
    ),
  }
  const releasedBy: ShownColumn<Hold> = {
    key: 'releasedBy',
    title: t('columns.releasedBy'),
    value: ({ released_by, released_by_name }) => released_by_name ?? released_by,
    cell: ({ released_by, released_by_name }) => released_by_name ?? released_by ?? '',
  }
  return [
    {
      key: 'covers',
      title: t('columns.covers'),
      main: true,
      minWidth: 'medium',
      value: targetName,
      cell: (hold) => <Target hold={hold} />,
    },
    {
      key: 'reason',
      title: t('columns.reason'),
      minWidth: 'medium',
      value: ({ reason }) => reason,
      cell: ({ reason }) => (
        <span dir="auto" className="line-clamp-3">
          {reason}
        </span>
      ),
    },
    {
      key: 'by',
      title: t('columns.by'),
      value: ({ created_by, created_by_name }) => created_by_name ?? created_by,
      cell: ({ created_by, created_by_name }) =>
        created_by_name ?? <CopyableId id={created_by} what={t('columns.by')} longest={18} />,
    },
    {
      key: 'since',
      title: t('columns.since'),
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} show="relative" />,
    },
    {
      key: 'until',
      title: t('columns.until'),
      value: ({ expires_at, released_at }) => released_at ?? expires_at,
      cell: (hold) => <EndCell hold={hold} />,
    },
    {
      key: 'requests',
      title: t('columns.requests'),
      cell: (hold) => (
        <TextLink
          href={`/admin/requests?open=all&hold=${hold.id}`}
          aria-label={t('requestsNamed', { target: targetName(hold) })}
        >
          {t('requests')}
        </TextLink>
      ),
    },
    view === 'true' ? release : releasedBy,
  ]
}
