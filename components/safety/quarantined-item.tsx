'use client'

import { clsx } from 'clsx'
import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { QuarantinedItem } from './endpoints.ts'

export type Decision = 'release' | 'keep'

function Reasons({ item: { reports, settled_reports } }: { item: QuarantinedItem }) {
  const t = useTranslations('safety.held')
  if (reports.length === 0)
    return <p>{settled_reports > 0 ? t('settled', { count: settled_reports }) : t('rejections')}</p>
  return (
    <>
      <p>{t('reported', { count: reports.length })}</p>
      <ul className="grid list-disc gap-1 pl-5">
        {[...reports.entries()].map(([number, { reason, reported_at }]) => (
          <li key={number} dir="auto" className="whitespace-pre-wrap">
            {t.rich('reason', { reason, time: () => <Time at={reported_at} /> })}
          </li>
        ))}
      </ul>
    </>
  )
}

/** A quarantined item: the reason, its content as plain text, and the two decisions. */
export function QuarantinedItemView({
  item,
  index,
  isAtHand,
  isBusy,
  isChosen,
  onChoose,
  decide,
}: {
  item: QuarantinedItem
  index: number
  isAtHand: boolean
  isBusy: boolean
  isChosen: boolean
  onChoose: () => void
  decide: (decision: Decision) => void
}) {
  const t = useTranslations('safety.held')
  const common = useTranslations('common')
  const { id, kind, agent_id, visibility, quarantined_at, unit, skill_md } = item
  const content = skill_md ?? (unit === null ? null : JSON.stringify(unit, null, 2))
  return (
    <article
      data-row={index}
      data-held={id}
      aria-labelledby={`held-${index}`}
      className={clsx(
        'grid gap-3 rounded-box border border-line bg-raised px-4 py-4',
        isAtHand && 'outline-2 -outline-offset-2 outline-accent',
      )}
    >
      <header className="grid gap-1">
        <h3 id={`held-${index}`} className="flex flex-wrap items-center gap-2 font-medium">
          <label className="inline-flex size-6 items-center justify-center">
            <input
              type="checkbox"
              aria-label={common('choose', { what: id })}
              checked={isChosen}
              onChange={onChoose}
              className="size-4 accent-accent"
            />
          </label>
          {t(`kind.${kind}`)} <CopyableId id={id} what={t(`kind.${kind}`)} />{' '}
          <Badge>{t(`visibility.${visibility}`)}</Badge>
        </h3>
        <p className="text-sm text-quiet">
          {t('by')} <TextLink href={`/admin/tokens/${encodeURIComponent(agent_id)}`}>{agent_id}</TextLink> ·{' '}
          {t.rich('since', { time: () => <Time at={quarantined_at} show="relative" /> })}
        </p>
      </header>
      <div className="grid gap-1">
        <h4 className="text-sm font-medium text-quiet">{t('why')}</h4>
        <Reasons item={item} />
      </div>
      {content === null ? (
        <p className="text-quiet">{t('private')}</p>
      ) : (
        <details>
          <summary className="cursor-pointer py-0.5 text-accent">{t('content')}</summary>
          <pre
            dir="auto"
            className="mt-2 rounded-box border border-line bg-sunken p-3 font-mono text-[0.8125rem] whitespace-pre-wrap [overflow-wrap:anywhere]"
          >
            {content}
          </pre>
        </details>
      )}
      <div className="flex flex-wrap gap-2">
        <Button
          tone="plain"
          size="small"
          aria-label={t('releaseNamed', { id })}
          aria-disabled={isBusy}
          onClick={() => decide('release')}
        >
          {t('release')}
        </Button>
        <Button
          tone="ghost"
          size="small"
          aria-label={t('keepNamed', { id })}
          aria-disabled={isBusy}
          onClick={() => decide('keep')}
        >
          {t('keep')}
        </Button>
      </div>
    </article>
  )
}
