'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { editSettingsAt } from './endpoints.ts'

/** Turns anonymous reading on or off after explaining the consequences. */
export function ReadingSwitch({ isOn }: { isOn: boolean }) {
  const t = useTranslations('tiers.settings')
  const [isOpen, setIsOpen] = useState(false)
  const edit = useApiMutation(editSettingsAt, { touches: ['/v1/settings'] })
  return (
    <>
      <Button tone="plain" size="small" onClick={() => setIsOpen(true)}>
        {t(isOn ? 'switchOff' : 'switchOn')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setIsOpen}
        title={t(isOn ? 'offTitle' : 'onTitle')}
        consequences={<p>{t(isOn ? 'offText' : 'onText')}</p>}
        action={t(isOn ? 'switchOff' : 'switchOn')}
        tone="main"
        change={edit}
        onConfirm={() => edit.begin({ body: { anonymous_reading: !isOn } }, () => setIsOpen(false))}
      />
    </>
  )
}
