/* Samples of the metrics of interrupts. */
#include <inttypes.h>

#include "tidbnumad/publish/metric-kinds.h"
#include "tidbnumad/publish/prometheus.h"

static uint64_t count_vectors(const IrqDeviceSnapshot *d) {
        uint64_t sum = 0;

        for (unsigned s = 0; s < N_IRQ_STATES; s++)
                sum += d->vectors[s];
        return sum;
}

/* All states of each device: an alert wants to see the nought, too. */
void metric_render_irq_vectors(const Metric *metric, const Snapshot *snapshot, Text *text) {
        const IrqSnapshot *irq = &snapshot->irq;

        for (size_t i = 0; i < irq->n_devices; i++) {
                const IrqDeviceSnapshot *d = &irq->devices[i];

                for (unsigned s = 0; count_vectors(d) > 0 && s < N_IRQ_STATES; s++) {
                        text_append(text, metric->name);
                        prometheus_append_label(text, "{", "device", d->name);
                        text_appendf(text, ",state=\"%s\"} %" PRIu64 "\n",
                                     irq_state_to_string((IrqState)s), d->vectors[s]);
                }
        }
}

void metric_render_irq_landed(const Metric *metric, const Snapshot *snapshot, Text *text) {
        const IrqSnapshot *irq = &snapshot->irq;

        for (size_t i = 0; i < irq->n_landed; i++) {
                text_append(text, metric->name);
                prometheus_append_label(text, "{", "device", irq->landed[i].device);
                prometheus_append_label(text, ",", "name", irq->landed[i].instance);
                text_appendf(text, "} %" PRIu64 "\n", irq->landed[i].count);
        }
}
