'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { makeAt, type Snapshot, snapshotPaths } from './endpoints.ts'

interface SnapshotMakerProps {
  agentId: string
  /** Snapshots that have not expired. */
  standing: readonly Snapshot[]
  /** Without a keyring there is no key to encrypt a snapshot for. */
  hasKeyring: boolean
  /** False while writing is blocked for the agent. */
  mayMakeKeyring: boolean
  mayWrite: boolean
  /** Why no snapshot can be made now, in words. */
  hindered: string | undefined
  /** The most on-demand snapshots at a time. */
  most: number
}

/** The button that creates a snapshot, or why there is none. */
export function SnapshotMaker({ hasKeyring, mayWrite, hindered, ...rest }: SnapshotMakerProps) {
  const t = useTranslations('agentSnapshots')
  if (!mayWrite) return <p className="text-quiet">{t('make.readsOnly')}</p>
  if (!hasKeyring) return <KeyringNeeded {...rest} />
  if (hindered !== undefined) return <p className="text-quiet">{hindered}</p>
  return <MakeButton {...rest} />
}

function KeyringNeeded({ agentId, mayMakeKeyring }: Pick<SnapshotMakerProps, 'agentId' | 'mayMakeKeyring'>) {
  const t = useTranslations('agentSnapshots.make')
  return (
    <Alert tone="info" title={t('noKeyring')}>
      <p>{t(mayMakeKeyring ? 'noKeyringText' : 'noKeyringNow')}</p>
      {mayMakeKeyring && (
        <p>
          <ButtonLink tone="plain" size="small" href={`/agents/${encodeURIComponent(agentId)}/grimoire`}>
            {t('toKeyring')}
          </ButtonLink>
        </p>
      )}
    </Alert>
  )
}

function MakeButton({ agentId, standing, most }: Pick<SnapshotMakerProps, 'agentId' | 'standing' | 'most'>) {
  const t = useTranslations('agentSnapshots.make')
  const making = useApiMutation(makeAt, { touches: snapshotPaths })
  const made = making.data && standing.find(({ id }) => id === making.data.data.id)
  const isFull = standing.filter(({ kind, state }) => kind === 'on_demand' && state !== 'failed').length >= most
  return (
    <div className="grid justify-items-start gap-3">
      {making.problem && <ProblemAlert problem={making.problem} />}
      <p className="text-quiet">{t('terms', { most })}</p>
      {isFull && <p>{t('full', { most })}</p>}
      <Button
        aria-disabled={making.isPending || isFull}
        onClick={() => {
          if (!isFull) making.begin({ params: { id: agentId } })
        }}
      >
        {t(making.isPending ? 'asking' : 'do')}
      </Button>
      <p role="status" className={made ? 'text-quiet' : 'sr-only'}>
        {made && t(made.state)}
      </p>
    </div>
  )
}
