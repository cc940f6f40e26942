'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useSizes } from '#components/projects/sizes.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { Time } from '#components/ui/time.tsx'
import { type AgentStateView, deleteStateAt } from './endpoints.ts'

/** The state that the agent uploaded for its snapshots: its size, and a button to delete it. */
export function StatePanel({ state, mayWrite }: { state: AgentStateView; mayWrite: boolean }) {
  const t = useTranslations('agentSnapshots.state')
  const size = useSizes()
  const [isOpen, setOpen] = useState(false)
  const removal = useApiMutation(deleteStateAt)
  return (
    <div className="grid justify-items-start gap-4">
      <FactList
        facts={[
          [t('size'), size(state.bytes)],
          [t('type'), state.media_type],
          [t('uploaded'), <Time key="uploaded" at={state.uploaded_at} relative />],
          ['SHA-256', <ShortId key="sum" id={state.sha256} what="SHA-256" />],
        ]}
      />
      {mayWrite && (
        <Button tone="danger" size="small" onClick={() => setOpen(true)}>
          {t('remove')}
        </Button>
      )}
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('ask')}
        consequences={<p>{t('text')}</p>}
        action={t('do')}
        change={removal}
        onConfirm={() => removal.begin({ params: { id: state.agent_id } }, () => setOpen(false))}
      />
    </div>
  )
}
