'use client'

import { useNow, useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Section } from '#components/ui/page.tsx'
import {
  deleteAt,
  type Snapshot,
  type SnapshotPage,
  snapshotPaths,
  snapshotsAt,
  snapshotsPerPage,
} from './endpoints.ts'
import { LinkDialog } from './link-dialog.tsx'
import { Restoring } from './restoring.tsx'
import { SnapshotMaker } from './snapshot-maker.tsx'
import { newestReady, snapshotPollInterval } from './snapshot-rules.ts'
import { SnapshotTable } from './snapshot-table.tsx'

interface RemoveSnapshotProps {
  agentId: string
  snapshot: Snapshot
  isRetired: boolean
  onClose: () => void
  onDone: (isKeyDestroyed: boolean) => void
}
function RemoveSnapshot({ agentId, snapshot: { id, kind }, isRetired, onClose, onDone }: RemoveSnapshotProps) {
  const t = useTranslations('agentSnapshots.remove')
  const removal = useApiMutation(deleteAt, { touches: snapshotPaths })
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('ask')}
      consequences={
        <>
          <p>{t('key')}</p>
          <p>{t(kind !== 'insurance' ? 'links' : isRetired ? 'insuredDead' : 'insured')}</p>
          <p className="font-mono text-[0.8125rem]">{id}</p>
        </>
      }
      action={t('do')}
      change={removal}
      onConfirm={() =>
        removal.begin({ params: { id: agentId, snapshotId: id } }, ({ data }) => onDone(data.key_destroyed))
      }
    />
  )
}

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
  const [removing, setRemoving] = useState<Snapshot>()
  const [removed, setRemoved] = useState<{ isKeyDestroyed: boolean }>()
  const [linked, setLinked] = useState<Snapshot>()
  const { rows } = list
  const wait = snapshotPollInterval(rows)
  useEffect(() => {
    if (wait === false) return
    const timer = setInterval(list.again, wait)
    return () => clearInterval(timer)
  })
  const standing = rows.filter(({ expires_at }) => expires_at === null || Date.parse(expires_at) > now.getTime())
  return (
    <>
      <Section id="list" title={t('list.title')}>
        {removed && (
          <Alert
            tone={removed.isKeyDestroyed ? 'done' : 'warning'}
            title={t(removed.isKeyDestroyed ? 'remove.done' : 'remove.keyLeft')}
            isLive
          />
        )}
        <SnapshotTable
          rows={standing}
          pages={list}
          now={now}
          isExpected={hasKeyring && !isRetired}
          onLink={setLinked}
          {...(mayWrite && {
            onRemove: (snapshot: Snapshot) => {
              setRemoved(undefined)
              setRemoving(snapshot)
            },
          })}
        />
      </Section>
      <Section id="make" title={t('make.title')}>
        <SnapshotMaker
          agentId={agentId}
          standing={standing}
          hasKeyring={hasKeyring}
          mayMakeKeyring={mayMakeKeyring}
          mayWrite={mayWrite}
          hindered={hindered}
          most={most}
        />
      </Section>
      <Restoring agentId={agentId} snapshot={newestReady(standing)} />
      {linked && <LinkDialog key={linked.id} snapshot={linked} onClose={() => setLinked(undefined)} />}
      {removing && (
        <RemoveSnapshot
          agentId={agentId}
          snapshot={removing}
          isRetired={isRetired}
          onClose={() => setRemoving(undefined)}
          onDone={(isKeyDestroyed) => {
            setRemoving(undefined)
            setRemoved({ isKeyDestroyed })
          }}
        />
      )}
    </>
  )
}
