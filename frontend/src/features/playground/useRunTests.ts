import { useMutation } from '@tanstack/react-query'
import { runTests } from '@/api/endpoints'
import { putReport } from '@/api/queries'
import { points } from '@/features/retrieval/words'
import { t } from '@/lib/i18n'
import type { SearchFolder } from '@/lib/roots'
import { announce } from '@/stores/announcer'

/** Runs the retrieval tests of a folder, counting a hit among the first `k`. */
export const useRunTests = (folder: SearchFolder, k: number) =>
  useMutation({
    mutationFn: () => runTests(folder, k),
    onSuccess: report => {
      putReport(report)
      announce(t('testsRan', { k: report.k, recall: points(report.recall_at_k) }))
    },
  })
