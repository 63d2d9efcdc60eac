import { cleanup, configure } from '@testing-library/react'
import { afterEach } from 'vitest'

// A slow machine is no fault of what is tested.
configure({ asyncUtilTimeout: 15_000 })
afterEach(cleanup)
