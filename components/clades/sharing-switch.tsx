'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Time } from '#components/ui/time.tsx'
import { sharingPaths, switchAt } from './clades.ts'

interface SharingSwitchProps {
  agentId: string
  since: string | null
  siblings: number
  /** Shares that are not fetched yet. */
  waiting: number
}

/** Turns sharing with siblings on or off after explaining the consequences. */
export function SharingSwitch({ agentId, since, siblings, waiting }: SharingSwitchProps) {
  const t = useTranslations('agentSharing.switch')
  const [isOpen, setOpen] = useState(false)
  const [withdrawn, setWithdrawn] = useState<number>()
  const change = useApiMutation(switchAt, { touches: sharingPaths })
  const isOn = since !== null
  const confirm = () =>
    change.begin({ params: { id: agentId }, body: { on: !isOn } }, ({ data }) => {
      setOpen(false)
      setWithdrawn(isOn ? data.withdrawn : undefined)
    })
  return (
    <div className="grid justify-items-start gap-3">
      {withdrawn !== undefined && !isOn && <Alert tone="done" title={t('offDone', { count: withdrawn })} isLive />}
      <p>{since === null ? t('off') : t.rich('on', { time: () => <Time at={since} /> })}</p>
      <Button tone="plain" onClick={() => setOpen(true)}>
        {isOn ? t('turnOff') : t('turnOn')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        tone="main"
        title={t(isOn ? 'offAsk' : 'onAsk')}
        consequences={
          isOn ? (
            <>
              <p>{t('offText', { count: waiting })}</p>
              <p>{t('offStays')}</p>
            </>
          ) : (
            <>
              <p>{t('onText', { count: siblings })}</p>
              <p>{t('onStripped')}</p>
              <p>{t('onBack')}</p>
            </>
          )
        }
        action={t(isOn ? 'offDo' : 'onDo')}
        change={change}
        onConfirm={confirm}
      />
    </div>
  )
}
