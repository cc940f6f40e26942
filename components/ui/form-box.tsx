import type { FormEvent, ReactNode } from 'react'
import { Button } from './button.tsx'

interface FormBoxProps {
  /** Name in the DOM, for example `create-project`. */
  name?: string
  /** The button label. */
  submit: string
  tone?: 'main' | 'plain'
  isPending: boolean
  onSubmit: () => void
  children: ReactNode
}

/** A boxed form with fields, its result and one button. */
export function FormBox({ name, submit, tone = 'main', isPending, onSubmit, children }: FormBoxProps) {
  const submitted = (event: FormEvent) => {
    event.preventDefault()
    onSubmit()
  }
  return (
    <form
      method="post"
      onSubmit={submitted}
      data-form={name}
      className="grid max-w-[45rem] gap-4 rounded-box border border-line bg-raised p-4"
    >
      {children}
      <Button type="submit" tone={tone} aria-disabled={isPending} className="justify-self-start">
        {submit}
      </Button>
    </form>
  )
}
