"""Measures of recognition, retrieval and the generalised (seen and unseen) setting.

Names say what is averaged: `per_class_...` gives each class one vote (the usual measure),
`per_image_...` each row. Labels are names (str) or whole numbers. No measure depends on the order
of rows or candidates: ties count by their expected share.

Symbols: y_j label of row j; s_jc its score for candidate c (`scores`, N x C, column c belongs to
`candidates[c]`); R_c = {j : y_j = c}; C* the classes that occur in `y_true`.
"""

from unseen.metrics.generalized import (
    GeneralizedAccuracy,
    SeenUnseenCurve,
    generalized_accuracy,
    harmonic_mean,
    seen_unseen_curve,
)
from unseen.metrics.recognition import (
    ConfusionMatrix,
    accuracies_by_class,
    confusion_matrix,
    per_class_accuracy,
    per_class_top_k_accuracy,
    per_image_accuracy,
)
from unseen.metrics.retrieval import (
    PrecisionRecallCurve,
    RocCurve,
    average_precision,
    average_precision_by_class,
    known_pairs,
    mean_average_precision,
    precision_at_k,
    precision_recall_curve,
    roc_auc,
    roc_curve,
)
