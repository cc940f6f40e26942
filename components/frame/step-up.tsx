'use client'

import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from 'react'
import { useLoaded } from '#components/ui/loaded.ts'
import { RequestRefused } from '#lib/client/request.ts'

const dialog = () => import('./step-up-dialog.tsx')

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
  const waiting = useRef<((confirmed: boolean) => void)[]>([])
  const [isOpen, setOpen] = useState(false)
  const loaded = useLoaded(dialog, isOpen)
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
    for (const resolve of waiting.current.splice(0)) resolve(confirmed)
  }
  return (
    <StepUp value={confirm}>
      {children}
      {loaded && <loaded.StepUpDialog open={isOpen} onFinish={finish} />}
    </StepUp>
  )
}
