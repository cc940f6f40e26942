'use client'

import { clsx } from 'clsx'
import { type KeyboardEvent, useId, useState } from 'react'

export interface ComboboxOption {
  value: string
  title: string
  /** A second fact that tells options with equal titles apart: an email address or an id. */
  text?: string | undefined
}
interface ComboboxProps {
  label: string
  placeholder?: string
  /** The typed text, or the title of the chosen option. */
  text: string
  onText: (text: string) => void
  /** Proposals for the text. The caller loads them. */
  options: readonly ComboboxOption[]
  onChoose: (option: ComboboxOption) => void
  error?: string | undefined
}

/** A text field with proposals (ARIA combobox): arrow keys move, Enter chooses, Esc closes the list. */
export function Combobox({ label, placeholder, text, onText, options, onChoose, error }: ComboboxProps) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const isShown = isOpen && options.length > 0
  const close = () => {
    setOpen(false)
    setAt(-1)
  }
  const choose = (option: ComboboxOption | undefined) => {
    if (!option) return
    onChoose(option)
    close()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      setOpen(true)
      const step = event.key === 'ArrowDown' ? 1 : -1
      if (options.length > 0) setAt((at + step + options.length) % options.length)
    } else if (event.key === 'Enter' && isShown && at >= 0) {
      event.preventDefault()
      choose(options[at])
    } else if (event.key === 'Escape' && isShown) {
      event.stopPropagation()
      close()
    }
  }
  return (
    <div className="relative grid min-w-0 content-start gap-1">
      <label htmlFor={id} className="text-sm text-quiet">
        {label}
      </label>
      <input
        id={id}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isShown && at >= 0 ? `${id}-${at}` : undefined}
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? `${id}-error` : undefined}
        placeholder={placeholder}
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={({ target }) => {
          onText(target.value)
          setOpen(true)
          setAt(-1)
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
        className="min-h-8 w-full rounded-box border border-edge bg-raised px-2.5 py-1 text-base placeholder:text-quiet aria-invalid:border-red sm:text-sm"
      />
      {isShown && (
        <div
          id={`${id}-list`}
          role="listbox"
          aria-label={label}
          className="absolute top-full z-30 mt-1 grid max-h-72 w-full min-w-56 overflow-y-auto rounded-box border border-line bg-raised p-1 shadow-md"
        >
          {options.map((option, index) => (
            <div
              key={option.value}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              tabIndex={-1}
              // The field keeps the focus, so that its blur does not close the list before the click.
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => choose(option)}
              onKeyDown={() => {}}
              className={clsx(
                'cursor-default rounded-small px-2.5 py-1.5',
                index === at && 'bg-sunken',
                'hover:bg-sunken',
              )}
            >
              <span className="block truncate">{option.title}</span>
              {option.text && <span className="block truncate text-sm text-quiet">{option.text}</span>}
            </div>
          ))}
        </div>
      )}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-sm text-red">
          {error}
        </p>
      )}
    </div>
  )
}
