'use client'

import { useRouter } from 'next/navigation'
import { useNow, useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import {
  deleteAt,
  makeAt,
  type Snapshot,
  type SnapshotPage,
  snapshotPaths,
  snapshotsAt,
  snapshotsPerPage,
} from './endpoints.ts'
import { LinkDialog } from './link-dialog.tsx'
import { Restoring } from './restoring.tsx'
import { SnapshotEntry } from './snapshot-entry.tsx'
import { newestReady, snapshotPollInterval } from './snapshot-rules.ts'

interface SnapshotDeskProps {
  agentId: string
  initial: SnapshotPage
  /** Without a keyring there is no key to seal a snapshot to. */
  hasKeyring: boolean
  /** False while writing is blocked for the agent. */
  mayMakeKeyring: boolean
  isRetired: boolean
  mayWrite: boolean
  /** Why no snapshot can be made now, in words. */
  hindered: string | undefined
  /** The most on-demand snapshots at a time. */
  most: number
}

/** The snapshots of an agent: create, follow until ready, link and delete. */
export function SnapshotDesk({
  agentId,
  initial,
  hasKeyring,
  mayMakeKeyring,
  isRetired,
  mayWrite,
  hindered,
  most,
}: SnapshotDeskProps) {
  const t = useTranslations('agentSnapshots')
  const now = useNow({ updateInterval: 30_000 })
  const list = useApiInfiniteQuery(
    snapshotsAt,
    { params: { id: agentId }, query: { limit: snapshotsPerPage } },
    { initial },
  )
  const making = useApiMutation(makeAt, { touches: snapshotPaths })
  const removal = useApiMutation(deleteAt, { touches: snapshotPaths })
  const [removing, setRemoving] = useState<Snapshot>()
  const [linked, setLinked] = useState<Snapshot>()
  const { rows } = list
  const wait = snapshotPollInterval(rows)
  useEffect(() => {
    if (wait === false) return
    const timer = setInterval(list.again, wait)
    return () => clearInterval(timer)
  })
  const router = useRouter()
  const wasWaiting = useRef(false)
  // The server renders the number of ready snapshots at the top of the page.
  useEffect(() => {
    if (wasWaiting.current && wait === false) router.refresh()
    wasWaiting.current = wait !== false
  }, [wait, router])
  const standing = rows.filter(({ expires_at }) => expires_at === null || Date.parse(expires_at) > now.getTime())
  const made = making.data && standing.find(({ id }) => id === making.data.data.id)
  const isFull = standing.filter(({ kind, state }) => kind === 'on_demand' && state !== 'failed').length >= most
  return (
    <>
      <Section id="make" title={t('make.title')} lead={t('make.lead')}>
        {making.problem && <ProblemAlert problem={making.problem} />}
        {!mayWrite ? (
          <p className="text-quiet">{t('make.readsOnly')}</p>
        ) : !hasKeyring ? (
          <Alert tone="info" title={t('make.noKeyring')}>
            {mayMakeKeyring ? (
              <>
                <p>{t('make.noKeyringText')}</p>
                <p>
                  <ButtonLink tone="plain" size="small" href={`/agents/${encodeURIComponent(agentId)}/grimoire`}>
                    {t('make.toKeyring')}
                  </ButtonLink>
                </p>
              </>
            ) : (
              <p>{t('make.noKeyringNow')}</p>
            )}
          </Alert>
        ) : hindered !== undefined ? (
          <p className="text-quiet">{hindered}</p>
        ) : (
          <div className="grid justify-items-start gap-3">
            <p className="text-quiet">{t('make.terms', { most })}</p>
            {isFull && <p>{t('make.full', { most })}</p>}
            <Button
              aria-disabled={making.isPending || isFull}
              onClick={() => {
                if (!isFull) making.begin({ params: { id: agentId } })
              }}
            >
              {t(making.isPending ? 'make.asking' : 'make.do')}
            </Button>
            <p role="status" className={made ? 'text-quiet' : 'sr-only'}>
              {made && t(`make.${made.state}`)}
            </p>
          </div>
        )}
      </Section>
      <Section id="list" title={t('list.title')}>
        {list.problem && rows.length === 0 && <ProblemAlert problem={list.problem} />}
        {removal.data && (
          <Alert
            tone={removal.data.data.key_destroyed ? 'done' : 'warning'}
            title={t(removal.data.data.key_destroyed ? 'remove.done' : 'remove.keyLeft')}
            isLive
          />
        )}
        {standing.length === 0 ? (
          !list.problem && (
            <Empty title={t('list.none')}>
              <p>{t(hasKeyring && !isRetired ? 'list.noneText' : 'list.noneEver')}</p>
            </Empty>
          )
        ) : (
          <ul aria-label={t('list.label')} className="divide-y divide-line rounded-box border border-line bg-raised">
            {standing.map((snapshot) => (
              <SnapshotEntry
                key={snapshot.id}
                snapshot={snapshot}
                now={now}
                onLink={() => setLinked(snapshot)}
                {...(mayWrite && {
                  onRemove: () => {
                    removal.reset()
                    setRemoving(snapshot)
                  },
                })}
              />
            ))}
          </ul>
        )}
        <MoreButton pages={list} />
      </Section>
      <Restoring agentId={agentId} snapshot={newestReady(standing)} />
      {linked && <LinkDialog key={linked.id} snapshot={linked} onClose={() => setLinked(undefined)} />}
      <Confirm
        open={removing !== undefined}
        onOpenChange={(open) => {
          if (!open) setRemoving(undefined)
        }}
        title={t('remove.ask')}
        consequences={
          <>
            <p>{t('remove.key')}</p>
            <p>
              {t(
                removing?.kind === 'insurance' ? (isRetired ? 'remove.insuredDead' : 'remove.insured') : 'remove.links',
              )}
            </p>
            <p className="font-mono text-[0.8125rem]">{removing?.id}</p>
          </>
        }
        action={t('remove.do')}
        change={removal}
        onConfirm={() => {
          if (removing)
            removal.begin({ params: { id: agentId, snapshotId: removing.id } }, () => setRemoving(undefined))
        }}
      />
    </>
  )
}
