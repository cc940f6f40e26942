'use client'

import { useTranslations } from 'next-intl'
import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from 'react'
import { Confirm } from '#components/ui/confirm.tsx'
import { Field } from '#components/ui/field.tsx'
import { type Endpoint, type ProblemDocument, RequestRefused, request } from '#lib/client/request.ts'
import type { confirmPassword } from '#lib/domains/accounts/contract.ts'

const confirmAt: Endpoint<typeof confirmPassword> = { method: 'post', path: '/api/account/confirm' }

/** Asks for the password. Resolves to false when the person cancels. */
const StepUp = createContext<() => Promise<boolean>>(async () => false)

/** Runs an action. If the server answers `step_up_required`, asks for the password and runs the action again. */
export function useStepUp(): <T>(act: () => Promise<T>) => Promise<T> {
  const confirm = useContext(StepUp)
  return useCallback(
    async (act) => {
      try {
        return await act()
      } catch (error) {
        const isNeeded = error instanceof RequestRefused && error.problem.code === 'step_up_required'
        if (!isNeeded || !(await confirm())) throw error
        return act()
      }
    },
    [confirm],
  )
}

export function StepUpProvider({ children }: { children: ReactNode }) {
  const t = useTranslations('frame.stepUp')
  const waiting = useRef<((confirmed: boolean) => void)[]>([])
  const [isOpen, setOpen] = useState(false)
  const [isPending, setPending] = useState(false)
  const [password, setPassword] = useState('')
  const [problem, setProblem] = useState<ProblemDocument>()
  const wrong = problem?.issues?.some(({ path }) => path.includes('password')) ?? false

  const confirm = useCallback(
    () =>
      new Promise<boolean>((resolve) => {
        waiting.current.push(resolve)
        setOpen(true)
      }),
    [],
  )
  const finish = (confirmed: boolean) => {
    setOpen(false)
    setPassword('')
    setProblem(undefined)
    for (const resolve of waiting.current.splice(0)) resolve(confirmed)
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
    <StepUp value={confirm}>
      {children}
      <Confirm
        open={isOpen}
        onOpenChange={(open) => open || finish(false)}
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
    </StepUp>
  )
}
