import fc from 'fast-check'
import { sampleSeed } from './sampling.ts'

// Property tests draw their cases by the seed of the run, so that the same code gets the same cases everywhere and KP_SEED repeats them.
fc.configureGlobal({ seed: sampleSeed })
