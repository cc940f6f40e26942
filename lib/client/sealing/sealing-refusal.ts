/**
 * Why data cannot be opened or sealed. A keyring with a changed salt or wrapped key also reports `wrong_passphrase`,
 * because it cannot be distinguished without the key. `damaged` is only reported for detectable damage.
 */
export type SealingCode =
  | 'wrong_passphrase'
  | 'wrong_recovery_code'
  | 'mistyped_recovery_code'
  | 'weak_passphrase'
  | 'refused_parameters'
  | 'damaged'
  | 'other_key'
  | 'too_large'

const words: Record<SealingCode, string> = {
  wrong_passphrase:
    'This passphrase does not open the keyring. Nothing was changed; try again, or use the recovery code.',
  wrong_recovery_code:
    'This recovery code does not open the keyring. It is written without a slip, so it is the code of another keyring, or one that was replaced.',
  mistyped_recovery_code:
    'The recovery code has a slip: its check signs do not fit. Compare it with what you wrote down; nothing was tried.',
  weak_passphrase:
    'A passphrase has 12 signs at least: whoever has a copy of the keyring may guess as often as they like.',
  refused_parameters:
    'The parameters of the keyring are refused: Argon2id with 64 MiB to 1 GiB of memory, 3 to 16 passes and one lane.',
  damaged: 'This was changed since it was sealed, or it is not what it says: nothing of it is shown.',
  other_key: 'This was sealed under another keyring than the one that is open.',
  too_large: 'An entry is larger than 64 KiB when it is sealed. Make two of it.',
}

/** The only error that this module throws for bad input. Its message contains no sealed data. */
export class SealingRefusal extends Error {
  readonly code: SealingCode
  constructor(code: SealingCode) {
    super(words[code])
    this.name = 'SealingRefusal'
    this.code = code
  }
}
