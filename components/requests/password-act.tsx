'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { issueOf } from '#components/frame/faults.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Field } from '#components/ui/field.tsx'
import type { useExpediting, useVerifying } from './requests.ts'

interface PasswordActProps {
  id: string
  act: 'expedite' | 'verify'
  change: ReturnType<typeof useExpediting> | ReturnType<typeof useVerifying>
}
/** A sensitive action: explains its consequences and asks for the password again. */
export function PasswordAct({ id, act, change }: PasswordActProps) {
  const t = useTranslations('requests.request.actions')
  const [isOpen, setOpen] = useState(false)
  const [password, setPassword] = useState('')
  const toggle = (open: boolean) => {
    setOpen(open)
    setPassword('')
  }
  const wrong = issueOf(change.problem, 'password')
  return (
    <>
      <Button tone="plain" onClick={() => toggle(true)}>
        {t(act)}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={toggle}
        title={t(`${act}Title`)}
        consequences={<p>{t(`${act}Text`)}</p>}
        action={t(`${act}Action`)}
        tone={act === 'expedite' ? 'danger' : 'main'}
        change={wrong ? { ...change, problem: undefined } : change}
        isIncomplete={password === ''}
        onConfirm={() => change.begin({ params: { id }, body: { password } }, () => toggle(false))}
      >
        <Field
          label={t('password')}
          type="password"
          autoComplete="current-password"
          value={password}
          onChange={({ target }) => setPassword(target.value)}
          error={wrong && t('wrongPassword')}
          required
        />
      </Confirm>
    </>
  )
}
