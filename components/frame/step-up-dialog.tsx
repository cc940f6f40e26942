'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Confirm } from '#components/ui/confirm.tsx'
import { Field } from '#components/ui/field.tsx'
import { type Endpoint, type ProblemDocument, RequestRefused, request } from '#lib/client/request.ts'
import type { confirmPassword } from '#lib/domains/accounts/contract.ts'
import { issueOf } from './faults.ts'

const confirmAt: Endpoint<typeof confirmPassword> = { method: 'post', path: '/api/account/confirm' }

interface StepUpDialogProps {
  open: boolean
  onFinish: (confirmed: boolean) => void
}

/** Asks for the password. */
export function StepUpDialog({ open, onFinish }: StepUpDialogProps) {
  const t = useTranslations('frame.stepUp')
  const [isPending, setPending] = useState(false)
  const [password, setPassword] = useState('')
  const [problem, setProblem] = useState<ProblemDocument>()
  const wrong = issueOf(problem, 'password') !== undefined
  const finish = (confirmed: boolean) => {
    setPassword('')
    setProblem(undefined)
    onFinish(confirmed)
  }
  async function submit() {
    setPending(true)
    try {
      await request(confirmAt, { body: { password } })
      finish(true)
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error
      setProblem(error.problem)
    } finally {
      setPending(false)
    }
  }
  return (
    <Confirm
      open={open}
      onOpenChange={(isOpen) => isOpen || finish(false)}
      title={t('title')}
      consequences={<p>{t('text')}</p>}
      action={t('action')}
      tone="main"
      change={{ isPending, problem: wrong ? undefined : problem, reset: () => setProblem(undefined) }}
      isIncomplete={password === ''}
      onConfirm={() => void submit()}
    >
      <Field
        label={t('password')}
        type="password"
        name="password"
        autoComplete="current-password"
        value={password}
        onChange={({ target }) => setPassword(target.value)}
        error={wrong ? t('wrong') : undefined}
        required
      />
    </Confirm>
  )
}
