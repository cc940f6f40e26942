'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { PlainLink, TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { pendingFor } from '#lib/domains/clades/rules.ts'
import { recallOf, type Share, shareAt, sharingPage } from './clades.ts'
import { removedBy } from './manifest.ts'
import { RemovedValues } from './removed-values.tsx'

type SiblingStatus = Share['siblings'][number]
const tones = {
  pending: 'neutral',
  delivered: 'success',
  recalling: 'warning',
  recalled: 'neutral',
  expired: 'neutral',
} as const

function SiblingLine({ one, sharedAt, name }: { one: SiblingStatus; sharedAt: string; name: string }) {
  const t = useTranslations('agentSharing.shares')
  const { state, delivered_at, acknowledged_at } = one
  const time = (at: string) => () => <Time at={at} />
  const until = new Date(Date.parse(sharedAt) + pendingFor).toISOString()
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
      <TextLink href={sharingPage(one.agent_id)}>
        <bdi>{name}</bdi>
      </TextLink>
      <Badge tone={tones[state]} hasDot>
        {t(`states.${state === 'pending' && delivered_at !== null ? 'given' : state}`)}
      </Badge>
      <span className="text-sm text-quiet">
        {state === 'pending' &&
          (delivered_at === null
            ? t.rich('pendingUntil', { time: () => <Time at={until} relative /> })
            : t.rich('givenAt', { time: time(delivered_at) }))}
        {state === 'delivered' && acknowledged_at !== null && t.rich('takenAt', { time: time(acknowledged_at) })}
        {state === 'recalled' && acknowledged_at !== null && t.rich('removedAt', { time: time(acknowledged_at) })}
      </span>
    </li>
  )
}

/** The progress of a recall. It polls until every sibling has confirmed. */
function RecallProgress({ share }: { share: Share }) {
  const t = useTranslations('agentSharing.shares')
  const { data } = useApiQuery(
    shareAt,
    { params: { id: share.agent_id, shareId: share.share_id } },
    {
      initial: { data: share },
      every: (found) => (found?.data.siblings.some(({ state }) => state === 'recalling') ? 30_000 : false),
    },
  )
  const { told, acknowledged } = recallOf((data?.data ?? share).siblings)
  if (told === 0) return <p className="text-sm text-quiet">{t('nobodyHadIt')}</p>
  const words = t('progress', { acknowledged, told })
  return (
    <div className="grid max-w-sm gap-1">
      <p className="text-sm">{words}</p>
      <ProgressBar value={acknowledged} max={told} label={words} />
    </div>
  )
}

interface ShareItemProps {
  share: Share
  names: Readonly<Record<string, string>>
  /** Absent if the reader may not recall. */
  onRecall?: () => void
}
/** One share: time, recipients, state, and the contents of its manifest. */
export function ShareItem({ share, names, onRecall }: ShareItemProps) {
  const t = useTranslations('agentSharing.shares')
  const kinds = useTranslations('agentSharing.entryKinds')
  const { share_id: id, agent_id, entry_id, kind, manifest, shared_at, recalled_at, siblings } = share
  const removed = removedBy(manifest)
  return (
    <article
      id={id}
      data-share={id}
      aria-labelledby={`${id}-title`}
      className="grid scroll-mt-16 gap-3 rounded-box border border-line bg-raised px-4 py-4 target:border-accent"
    >
      <header className="grid gap-1">
        <h3 id={`${id}-title`} className="flex flex-wrap items-center gap-2 font-medium">
          {kinds(kind)} <CopyableId id={id} what={t('id')} />
          {recalled_at !== null && <Badge tone="warning">{t('isRecalled')}</Badge>}
        </h3>
        <p className="text-sm text-quiet">
          {recalled_at === null
            ? t.rich('sharedAt', { time: () => <Time at={shared_at} relative /> })
            : t.rich('recalledAt', { time: () => <Time at={recalled_at} relative /> })}
          {entry_id !== null && (
            <>
              {' · '}
              {t.rich('ofEntry', {
                link: (text) => (
                  <TextLink href={`/agents/${encodeURIComponent(agent_id)}/grimoire?entry=${entry_id}`}>
                    {text}
                  </TextLink>
                ),
              })}
            </>
          )}
        </p>
      </header>
      {recalled_at !== null && <RecallProgress share={share} />}
      {siblings.length > 0 && (
        <ul className="grid gap-1.5">
          {siblings.map((one) => (
            <SiblingLine key={one.agent_id} one={one} sharedAt={shared_at} name={names[one.agent_id] ?? one.agent_id} />
          ))}
        </ul>
      )}
      <details>
        <summary className="cursor-pointer text-accent">{t('manifest')}</summary>
        <div className="mt-3 grid gap-3">
          {removed && <RemovedValues removed={removed} />}
          <p className="text-sm text-quiet">
            {t.rich('manifestText', { keys: (text) => <PlainLink href="/.well-known/jwks.json">{text}</PlainLink> })}
          </p>
          <CodeBlock code={manifest} what={t('manifest')} />
        </div>
      </details>
      {onRecall && recalled_at === null && (
        <Button
          tone="plain"
          size="small"
          onClick={onRecall}
          aria-label={t('recallNamed', { id })}
          className="justify-self-start"
        >
          {t('recall')}
        </Button>
      )}
    </article>
  )
}
